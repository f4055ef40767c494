import assert from 'node:assert/strict';
import { Buffer } from 'node:buffer';
import { test } from 'node:test';
import type { Pod } from '../../api/generated/core-v1.ts';
import type { Log } from '../../base/log.ts';
import { SeededRandom } from '../../host/fake/seeded-random.ts';
import { VirtualClock } from '../../host/fake/virtual-clock.ts';
import { ApiError } from '../api-client/api-server.ts';
import { createMemoryApiServer } from '../api-client/fake/memory-api-server.ts';
import { NO_TOKENS, type TokenOptions } from './pod-tokens.ts';
import { ServiceAccountTokens, tokenLifetime } from './service-account-tokens.ts';

const LIFE = new AbortController().signal;
const MINUTE_MS = 60_000;
/** With any jitter, an hour’s token is fresh before this time and due after the next. */
const FRESH_MS = 47 * MINUTE_MS;
const DUE_MS = 48 * MINUTE_MS + 1;
const HOUR: TokenOptions = { expirationSeconds: 3600 };

async function setUp() {
  const clock = new VirtualClock();
  const random = new SeededRandom(1);
  const api = createMemoryApiServer({ clock, random });
  const asked: unknown[] = [];
  api.faults.everyCall((verb, request) => {
    if (verb === 'createToken') asked.push(request.name);
    return undefined;
  });
  const woken: string[] = [];
  const logged: unknown[] = [];
  const line = (message: string, fields: unknown): void => void logged.push(message, fields);
  const log: Log = { debug: line, info: line, warn: line, error: line };
  const life = new AbortController();
  const changed = (uid: string): void => void woken.push(uid);
  const tokens = new ServiceAccountTokens({ api, onChange: changed, clock, random, log }, life.signal);
  const pod = await create('web');
  return { clock, api, asked, woken, logged, life, tokens, pod, create };

  function create(name: string): Promise<Pod> {
    const key = { resource: 'pods', namespace: 'shop', name } as const;
    const metadata = { name, namespace: 'shop', uid: '' };
    const spec = { serviceAccountName: 'default', containers: [{ name: 'main', image: 'busybox' }] };
    return api.direct.create(key, { metadata, spec }, LIFE);
  }
}

function claimsOf(token: string): Record<string, unknown> {
  return JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString());
}

test('a token is of the pod’s account and bound to the pod', async () => {
  const { tokens, pod } = await setUp();
  const claims = claimsOf(await tokens.token(pod, { audience: 'vault', expirationSeconds: 7200 }, LIFE));
  const { uid } = pod.metadata;
  assert.deepEqual(
    {
      sub: claims['sub'],
      aud: claims['aud'],
      life: Number(claims['exp']) - Number(claims['iat']),
      to: claims['kubernetes.io'],
    },
    {
      sub: 'system:serviceaccount:shop:default',
      aud: ['vault'],
      life: 7200,
      to: { namespace: 'shop', serviceaccount: { name: 'default' }, pod: { name: 'web', uid } },
    },
  );
});

test('without an audience the token is for the API server, with a lifetime of an hour', async () => {
  const { tokens, pod } = await setUp();
  const claims = claimsOf(await tokens.token(pod, {}, LIFE));
  assert.deepEqual(claims['aud'], ['https://kubernetes.default.svc']);
  assert.equal(Number(claims['exp']) - Number(claims['iat']), 3600);
});

test('a fresh token is requested once', async () => {
  const { tokens, pod, asked, clock } = await setUp();
  const first = await tokens.token(pod, HOUR, LIFE);
  await clock.advance(FRESH_MS);
  assert.equal(await tokens.token(pod, HOUR, LIFE), first);
  assert.equal(asked.length, 1);
});

test('each audience, lifetime and pod has its own token', async () => {
  const { tokens, pod, create, asked } = await setUp();
  const other = await create('api');
  const all = [
    await tokens.token(pod, HOUR, LIFE),
    await tokens.token(pod, { ...HOUR, audience: 'vault' }, LIFE),
    await tokens.token(pod, { ...HOUR, expirationSeconds: 7200 }, LIFE),
    await tokens.token(other, HOUR, LIFE),
  ];
  assert.equal(new Set(all).size, 4);
  assert.equal(asked.length, 4);
});

test('a token that is due is renewed in the background, and then the pod is woken', async () => {
  const { tokens, pod, asked, clock, woken } = await setUp();
  const first = await tokens.token(pod, HOUR, LIFE);
  await clock.advance(DUE_MS);
  assert.equal(await tokens.token(pod, HOUR, LIFE), first);
  await clock.advance(0);
  assert.deepEqual(woken, [pod.metadata.uid]);
  const second = await tokens.token(pod, HOUR, LIFE);
  assert.notEqual(second, first);
  await clock.advance(FRESH_MS);
  assert.equal(await tokens.token(pod, HOUR, LIFE), second);
  assert.equal(asked.length, 2);
});

test('a renewal that hangs blocks no caller, and is not started twice', async () => {
  const { tokens, pod, api, clock, asked } = await setUp();
  const first = await tokens.token(pod, HOUR, LIFE);
  await clock.advance(DUE_MS);
  api.faults.next('createToken', { kind: 'hang' });
  assert.equal(await tokens.token(pod, HOUR, LIFE), first);
  assert.equal(await tokens.token(pod, HOUR, LIFE), first);
  assert.equal(asked.length, 1);
});

test('a failed renewal is retried by the next request, and the old token is used until it expires', async () => {
  const { tokens, pod, api, clock, woken, logged } = await setUp();
  const first = await tokens.token(pod, HOUR, LIFE);
  api.faults.setOutage(true);
  await clock.advance(59 * MINUTE_MS);
  assert.equal(await tokens.token(pod, HOUR, LIFE), first);
  await clock.advance(0);
  assert.equal(logged[0], 'cannot renew service account token');
  api.faults.setOutage(false);
  assert.equal(await tokens.token(pod, HOUR, LIFE), first);
  await clock.advance(0);
  assert.equal(woken.length, 1);
  assert.notEqual(await tokens.token(pod, HOUR, LIFE), first);
});

test('an error of the first request is reported with kubelet’s message', async () => {
  const { tokens, pod, api } = await setUp();
  api.faults.next('createToken', { kind: 'before', error: new ApiError('Unavailable', 'connection refused') });
  const message = 'failed to fetch token: connection refused';
  await assert.rejects(tokens.token(pod, HOUR, LIFE), { name: 'TokenError', message });
});

test('an expired token that cannot be renewed is an error', async () => {
  const { tokens, pod, api, clock } = await setUp();
  const vault = { ...HOUR, audience: 'vault' };
  await tokens.token(pod, vault, LIFE);
  await clock.advance(60 * MINUTE_MS + 1);
  api.faults.next('createToken', { kind: 'before', error: new ApiError('Unavailable', 'connection refused') });
  const { uid } = pod.metadata;
  const key = `"default"/"shop"/[]string{"vault"}/3600/v1.BoundObjectReference{Kind:"Pod", APIVersion:"v1", Name:"web", UID:"${uid}"}/""`;
  const message = `token ${key} expired and refresh failed: connection refused`;
  await assert.rejects(tokens.token(pod, vault, LIFE), { name: 'TokenError', message });
});

test('an expired token is renewed before it is returned', async () => {
  const { tokens, pod, clock } = await setUp();
  const first = await tokens.token(pod, HOUR, LIFE);
  await clock.advance(61 * MINUTE_MS);
  assert.notEqual(await tokens.token(pod, HOUR, LIFE), first);
});

test('a token of an account by UID is not of another account with its name', async () => {
  const { tokens, pod, api, asked, clock } = await setUp();
  const key = { resource: 'serviceaccounts', namespace: 'shop', name: 'default' } as const;
  const { metadata } = await api.direct.create(key, { metadata: { name: 'default' } }, LIFE);
  const byUid = { audience: 'vault', accountUid: metadata.uid };
  await tokens.token(pod, byUid, LIFE);
  await tokens.token(pod, { audience: 'vault' }, LIFE);
  assert.equal(asked.length, 2);
  await api.direct.delete(key, {}, LIFE);
  const { uid } = (await api.direct.create(key, { metadata: { name: 'default' } }, LIFE)).metadata;
  await clock.advance(61 * MINUTE_MS);
  const why = `the UID in the token request (${metadata.uid}) does not match the UID of the service account (${uid})`;
  const refused = `Operation cannot be fulfilled on TokenRequest.authentication.k8s.io "default": ${why}`;
  const bound = `v1.BoundObjectReference{Kind:"Pod", APIVersion:"v1", Name:"web", UID:"${pod.metadata.uid}"}`;
  const message = `token "default"/"shop"/[]string{"vault"}/0/${bound}/"${metadata.uid}" expired and refresh failed: ${refused}`;
  await assert.rejects(tokens.token(pod, byUid, LIFE), { name: 'TokenError', message });
});

test('tokens are dropped with their pod, even during a renewal', async () => {
  const { tokens, pod, api, clock, asked, woken } = await setUp();
  await tokens.token(pod, HOUR, LIFE);
  await clock.advance(DUE_MS);
  api.faults.next('createToken', { kind: 'delay', ms: 1000 });
  await tokens.token(pod, HOUR, LIFE);
  tokens.forget(pod.metadata.uid);
  await clock.advance(1000);
  assert.deepEqual(woken, []);
  await tokens.token(pod, HOUR, LIFE);
  assert.equal(asked.length, 2);
});

test('tokens of other pods are kept', async () => {
  const { tokens, pod, create, asked } = await setUp();
  const other = await create('api');
  await tokens.token(other, HOUR, LIFE);
  tokens.forget(pod.metadata.uid);
  await tokens.token(other, HOUR, LIFE);
  assert.equal(asked.length, 1);
});

test('an ended pod does not wait for its token', async () => {
  const { tokens, pod, api } = await setUp();
  api.faults.next('createToken', { kind: 'hang' });
  const end = new AbortController();
  const asked = tokens.token(pod, HOUR, end.signal);
  end.abort(new Error('over'));
  await assert.rejects(asked, { message: 'over' });
});

test('no token is ever logged', async () => {
  const { tokens, pod, api, clock, logged } = await setUp();
  const token = await tokens.token(pod, HOUR, LIFE);
  await clock.advance(DUE_MS);
  api.faults.next('createToken', { kind: 'after', error: new ApiError('Unavailable', 'connection reset') });
  await tokens.token(pod, HOUR, LIFE);
  await clock.advance(0);
  assert.ok(logged.length > 0);
  assert.ok(!JSON.stringify(logged).includes(token));
});

test('standalone there are no tokens', async () => {
  const { pod } = await setUp();
  const message = 'cannot use TokenManager when kubelet is in standalone mode';
  await assert.rejects(NO_TOKENS.token(pod, HOUR, LIFE), { message });
});

const NOW_MS = 1_000_000_000;
const HOUR_MS = 3_600_000;

const cases: Record<string, { asked: number; lifeMs: number; fraction?: number; renewedAfterMs: number }> = {
  'renews when a fifth of the lifetime is left': { asked: 3600, lifeMs: HOUR_MS, renewedAfterMs: 48 * 60_000 },
  'renews up to ten seconds earlier': {
    asked: 3600,
    lifeMs: HOUR_MS,
    fraction: 0.99,
    renewedAfterMs: 48 * 60_000 - 9_000,
  },
  'renews a long-lived token when it is a day old': {
    asked: 48 * 3600,
    lifeMs: 48 * HOUR_MS,
    renewedAfterMs: 24 * HOUR_MS,
  },
  'uses the server’s lifetime if it is shorter': {
    asked: 100 * 3600,
    lifeMs: 10 * HOUR_MS,
    renewedAfterMs: 8 * HOUR_MS,
  },
  'uses the requested lifetime if the server’s clock is ahead': {
    asked: 3600,
    lifeMs: 2 * HOUR_MS,
    renewedAfterMs: 2 * HOUR_MS - 12 * 60_000,
  },
  'renews a token at once that has expired by our clock': { asked: 3600, lifeMs: -60_000, renewedAfterMs: -60_000 },
};

for (const [name, { asked, lifeMs, fraction = 0, renewedAfterMs }] of Object.entries(cases)) {
  test(`tokenLifetime() ${name}`, () => {
    const expiresMs = NOW_MS + lifeMs;
    assert.deepEqual(tokenLifetime(expiresMs, asked, NOW_MS, fraction), {
      expiresMs,
      renewMs: NOW_MS + renewedAfterMs,
    });
  });
}
