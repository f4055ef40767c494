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
    /** `a=1`, or the error message. */
    read: () =>
      objects.configMap('default', 'settings', LIFE).then(
        ({ data }) => `a=${data?.['a']}`,
        ({ message, isMissing }: ObjectError) => (isMissing ? `missing: ${message}` : message),
      ),
  };
}

test('an object is cached for its lifetime', async () => {
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

test('without a lifetime each read is a request', async () => {
  const it = setUp(0);
  await it.create();
  it.objects.follow(podOf('a', 'settings'));
  await it.read();
  await it.set('2');
  assert.equal(await it.read(), 'a=2');
});

test('a pod starts with the current object, even if another has an older one', async () => {
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

test('objects that no pod refers to (any more) are requested each time', async () => {
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

test('a missing object is requested each time', async () => {
  const it = setUp();
  it.objects.follow(podOf('a', 'settings'));
  assert.equal(await it.read(), 'missing: configmap "settings" not found');
  await it.create();
  assert.equal(await it.read(), 'a=1');
});

test('while the server is unavailable the last values are used', async () => {
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

test('objectTtlMs() of an unknown node is a minute', () => {
  assert.equal(objectTtlMs(undefined), 60_000);
});
