import assert from 'node:assert/strict';
import test from 'node:test';
import type { PodAccount } from './pod-account.ts';
import { type AccountScope, cacheKey, inFlightKey } from './provider-keys.ts';

const account: PodAccount = {
  uid: 'u',
  namespace: 'shop',
  name: 'builder',
  annotations: { region: 'here', team: 'a' },
  token: 'secret',
};
const byAccount: AccountScope = { cacheType: 'ServiceAccount', account };
const byToken: AccountScope = { cacheType: 'Token', account };
const changed = (change: Partial<PodAccount>, of = byAccount): AccountScope => ({
  ...of,
  account: { ...account, ...change },
});

/** The next request after the first response was cached, and whether it gets the cached one. */
const kept: Record<string, { first: AccountScope | undefined; next: AccountScope | undefined; isSame: boolean }> = {
  'the same account': { first: byAccount, next: { ...byAccount }, isSame: true },
  'another pod of the account': { first: byAccount, next: changed({ token: 'other' }), isSame: true },
  'another pod of the account, by token': { first: byToken, next: changed({ token: 'other' }, byToken), isSame: false },
  'the same token': { first: byToken, next: { ...byToken }, isSame: true },
  'another account': { first: byAccount, next: changed({ name: 'runner' }), isSame: false },
  'an account of another namespace': { first: byAccount, next: changed({ namespace: 'mall' }), isSame: false },
  'a new account of the same name': { first: byAccount, next: changed({ uid: 'new' }), isSame: false },
  'different annotations': {
    first: byAccount,
    next: changed({ annotations: { ...account.annotations, region: 'there' } }),
    isSame: false,
  },
  'a pod without an account': { first: byAccount, next: undefined, isSame: false },
  'pods without accounts': { first: undefined, next: undefined, isSame: true },
  'names with the same concatenation': {
    first: changed({ namespace: 'shop', name: 'a' }),
    next: changed({ namespace: 'shopa', name: '' }),
    isSame: false,
  },
};

for (const [name, { first, next, isSame }] of Object.entries(kept)) {
  test(`cacheKey() treats ${name} ${isSame ? 'as the same' : 'as different'}`, () => {
    for (const type of ['Image', 'Registry', 'Global'] as const) {
      assert.equal(cacheKey(type, 'r.io/app', first) === cacheKey(type, 'r.io/app', next), isSame);
    }
  });
}

const places: Record<string, { type: 'Image' | 'Registry' | 'Global'; other: string; isSame: boolean }> = {
  'another image': { type: 'Image', other: 'r.io/tool', isSame: false },
  'another image of the registry': { type: 'Registry', other: 'r.io/tool', isSame: true },
  'another registry': { type: 'Registry', other: 'other.io/app', isSame: false },
  'another registry with a global response': { type: 'Global', other: 'other.io/app', isSame: true },
};

for (const [name, { type, other, isSame }] of Object.entries(places)) {
  test(`cacheKey() treats ${name} ${isSame ? 'as the same' : 'as different'}`, () => {
    assert.equal(cacheKey(type, 'r.io/app', byAccount) === cacheKey(type, other, byAccount), isSame);
  });
}

test('inFlightKey() depends on image, token and annotations, and on nothing else', () => {
  const first = inFlightKey('r.io/app', byAccount);
  assert.equal(first, inFlightKey('r.io/app', byToken));
  const others = [
    inFlightKey('r.io/tool', byAccount),
    inFlightKey('r.io/app', changed({ token: 'other' })),
    inFlightKey('r.io/app', changed({ annotations: {} })),
    inFlightKey('r.io/app', undefined),
  ];
  assert.equal(new Set([first, ...others]).size, 5);
});

test('no key contains a token', () => {
  const keys = [cacheKey('Global', 'r.io/app', byToken), inFlightKey('r.io/app', byToken)];
  assert.ok(keys.every((key) => !key.includes(account.token)));
});
