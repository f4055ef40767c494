import assert from 'node:assert/strict';
import test from 'node:test';
import type { PodAccount } from './pod-account.ts';
import { type AskedFor, keptKey, runKey } from './provider-keys.ts';

const account: PodAccount = {
  uid: 'u',
  namespace: 'shop',
  name: 'builder',
  annotations: { region: 'here', team: 'a' },
  token: 'secret',
};
const byAccount: AskedFor = { cacheType: 'ServiceAccount', account };
const byToken: AskedFor = { cacheType: 'Token', account };
const changed = (change: Partial<PodAccount>, of = byAccount): AskedFor => ({
  ...of,
  account: { ...account, ...change },
});

/** What is asked for after the first answer was kept, and whether that is given again. */
const kept: Record<string, { first: AskedFor | undefined; next: AskedFor | undefined; isSame: boolean }> = {
  'the same account': { first: byAccount, next: { ...byAccount }, isSame: true },
  'another pod of the account': { first: byAccount, next: changed({ token: 'other' }), isSame: true },
  'another pod of the account, by token': { first: byToken, next: changed({ token: 'other' }, byToken), isSame: false },
  'the same token': { first: byToken, next: { ...byToken }, isSame: true },
  'another account': { first: byAccount, next: changed({ name: 'runner' }), isSame: false },
  'an account of another namespace': { first: byAccount, next: changed({ namespace: 'mall' }), isSame: false },
  'a new account of the name': { first: byAccount, next: changed({ uid: 'new' }), isSame: false },
  'another annotation': {
    first: byAccount,
    next: changed({ annotations: { ...account.annotations, region: 'there' } }),
    isSame: false,
  },
  'a pod without an account': { first: byAccount, next: undefined, isSame: false },
  'pods without accounts': { first: undefined, next: undefined, isSame: true },
  'names that are the same put together': {
    first: changed({ namespace: 'shop', name: 'a' }),
    next: changed({ namespace: 'shopa', name: '' }),
    isSame: false,
  },
};

for (const [name, { first, next, isSame }] of Object.entries(kept)) {
  test(`keptKey() tells ${name} ${isSame ? 'as the same' : 'apart'}`, () => {
    for (const type of ['Image', 'Registry', 'Global'] as const) {
      assert.equal(keptKey(type, 'r.io/app', first) === keptKey(type, 'r.io/app', next), isSame);
    }
  });
}

const places: Record<string, { type: 'Image' | 'Registry' | 'Global'; other: string; isSame: boolean }> = {
  'another image': { type: 'Image', other: 'r.io/tool', isSame: false },
  'another image of the registry': { type: 'Registry', other: 'r.io/tool', isSame: true },
  'another registry': { type: 'Registry', other: 'other.io/app', isSame: false },
  'another registry, where one answer is for all': { type: 'Global', other: 'other.io/app', isSame: true },
};

for (const [name, { type, other, isSame }] of Object.entries(places)) {
  test(`keptKey() tells ${name} ${isSame ? 'as the same' : 'apart'}`, () => {
    assert.equal(keptKey(type, 'r.io/app', byAccount) === keptKey(type, other, byAccount), isSame);
  });
}

test('runKey() tells images, tokens and annotations apart, and nothing else', () => {
  const first = runKey('r.io/app', byAccount);
  assert.equal(first, runKey('r.io/app', byToken));
  const others = [
    runKey('r.io/tool', byAccount),
    runKey('r.io/app', changed({ token: 'other' })),
    runKey('r.io/app', changed({ annotations: {} })),
    runKey('r.io/app', undefined),
  ];
  assert.equal(new Set([first, ...others]).size, 5);
});

test('no key shows a token', () => {
  const keys = [keptKey('Global', 'r.io/app', byToken), runKey('r.io/app', byToken)];
  assert.ok(keys.every((key) => !key.includes(account.token)));
});
