import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Pod } from '../../api/generated/core-v1.ts';
import { SeededRandom } from '../../host/fake/seeded-random.ts';
import { VirtualClock } from '../../host/fake/virtual-clock.ts';
import { ApiError } from '../api-client/api-server.ts';
import { createMemoryApiServer } from '../api-client/fake/memory-api-server.ts';
import { FetchedObjects, objectTtlMs } from './fetched-objects.ts';
import type { ObjectError } from './pod-objects.ts';

const LIFE = new AbortController().signal;
const TTL_MS = 60_000;
const KEY = { resource: 'configmaps', namespace: 'default', name: 'settings' } as const;

function podOf(uid: string, ...names: string[]): Pod {
  const volumes = names.map((name) => ({ name, configMap: { name } }));
  return { metadata: { name: uid, namespace: 'default', uid }, spec: { containers: [], volumes } };
}

function setUp(ttlMs = TTL_MS) {
  const clock = new VirtualClock();
  const api = createMemoryApiServer({ clock, random: new SeededRandom(1) });
  const calls: string[] = [];
  api.faults.everyCall((verb, { resource }) => void calls.push(`${verb} ${resource}`));
  const objects = new FetchedObjects({ api, clock, ttlMs: () => ttlMs });
  return {
    api,
    clock,
    calls,
    objects,
    create: () => api.direct.create(KEY, { metadata: { name: 'settings' }, data: { a: '1' } }, LIFE),
    set: (a: string) => api.direct.patch(KEY, { data: { a } }, {}, LIFE),
    /** `a=1`, or what was said instead. */
    read: () =>
      objects.configMap('default', 'settings', LIFE).then(
        ({ data }) => `a=${data?.['a']}`,
        ({ message, isMissing }: ObjectError) => (isMissing ? `missing: ${message}` : message),
      ),
  };
}

test('an answer is good for its time, and then the server is asked again', async () => {
  const it = setUp();
  await it.create();
  it.objects.follow(podOf('a', 'settings'));
  assert.equal(await it.read(), 'a=1');
  await it.set('2');
  await it.clock.advance(TTL_MS - 1);
  assert.equal(await it.read(), 'a=1');
  await it.clock.advance(1);
  assert.equal(await it.read(), 'a=2');
  assert.deepEqual(it.calls, ['get configmaps', 'get configmaps']);
});

test('with no time at all the server is asked each time', async () => {
  const it = setUp(0);
  await it.create();
  it.objects.follow(podOf('a', 'settings'));
  await it.read();
  await it.set('2');
  assert.equal(await it.read(), 'a=2');
});

test('a pod begins with what is true then, also where another has an older answer', async () => {
  const it = setUp();
  await it.create();
  it.objects.follow(podOf('a', 'settings'));
  await it.read();
  await it.set('2');
  it.objects.follow(podOf('a', 'settings'));
  assert.equal(await it.read(), 'a=1');
  it.objects.follow(podOf('b', 'settings'));
  assert.equal(await it.read(), 'a=2');
});

test('what nobody refers to, or does any more, is asked for each time', async () => {
  const it = setUp();
  await it.create();
  await it.read();
  await it.read();
  assert.equal(it.calls.length, 2);
  it.objects.follow(podOf('a', 'settings'));
  await it.read();
  it.objects.forget('a');
  await it.set('2');
  assert.equal(await it.read(), 'a=2');
});

test('what is missing is looked for each time', async () => {
  const it = setUp();
  it.objects.follow(podOf('a', 'settings'));
  assert.equal(await it.read(), 'missing: configmap "settings" not found');
  await it.create();
  assert.equal(await it.read(), 'a=1');
});

test('while the server is away everything is as it was', async () => {
  const it = setUp();
  it.objects.follow(podOf('a', 'settings'));
  it.api.faults.next('get', { kind: 'before', error: new ApiError('Unavailable', 'connection refused') });
  assert.equal(await it.read(), 'connection refused');
  await it.read();
  it.api.faults.next('get', { kind: 'before', error: new ApiError('Unavailable', 'connection refused') });
  assert.equal(await it.read(), 'missing: configmap "settings" not found');
  await it.create();
  await it.read();
  await it.clock.advance(TTL_MS);
  it.api.faults.next('get', { kind: 'before', error: new ApiError('Unavailable', 'connection refused') });
  assert.equal(await it.read(), 'a=1');
});

for (const [ttl, ms] of Object.entries({ '0': 0, '300': 300_000, 'a while': 60_000, '': 60_000 })) {
  test(`objectTtlMs() of a node that says ${JSON.stringify(ttl)} is ${ms}`, () => {
    const metadata = { name: 'box', annotations: { 'node.alpha.kubernetes.io/ttl': ttl } };
    assert.equal(objectTtlMs({ metadata, spec: {} }), ms);
  });
}

test('objectTtlMs() of a node that nobody knows is a minute', () => {
  assert.equal(objectTtlMs(undefined), 60_000);
});
