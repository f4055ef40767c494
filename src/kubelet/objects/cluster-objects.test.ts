import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Pod } from '../../api/generated/core-v1.ts';
import { silentLog } from '../../base/log.ts';
import { SeededRandom } from '../../host/fake/seeded-random.ts';
import { VirtualClock } from '../../host/fake/virtual-clock.ts';
import { ApiError } from '../api-client/api-server.ts';
import { createMemoryApiServer } from '../api-client/fake/memory-api-server.ts';
import { ClusterObjects } from './cluster-objects.ts';

const LIFE = new AbortController().signal;
/** The longest back-off. */
const LONGEST_PAUSE_MS = 60_000;
const KEY = { resource: 'configmaps', namespace: 'default', name: 'settings' } as const;

function podOf(uid: string, ...names: string[]): Pod {
  const volumes = names.map((name) => ({ name, configMap: { name } }));
  return { metadata: { name: uid, namespace: 'default', uid }, spec: { containers: [], volumes } };
}

function setUp() {
  const clock = new VirtualClock();
  const random = new SeededRandom(1);
  const api = createMemoryApiServer({ clock, random });
  const calls: string[] = [];
  api.faults.everyCall((verb, { resource }) => void calls.push(`${verb} ${resource}`));
  const woken: string[] = [];
  const life = new AbortController();
  const deps = { api, clock, random, log: silentLog, onChange: (uid: string) => woken.push(uid) };
  const objects = new ClusterObjects(deps, life.signal);
  return {
    api,
    clock,
    calls,
    woken,
    objects,
    create: (more: object = {}) =>
      api.direct.create(KEY, { metadata: { name: 'settings', namespace: 'default' }, data: { a: '1' }, ...more }, LIFE),
    set: (a: string) => api.direct.patch(KEY, { data: { a } }, {}, LIFE),
    /** `a=1`, or the error message. */
    async read() {
      const asked = objects.configMap('default', 'settings', LIFE).then(
        ({ data }) => `a=${data?.['a']}`,
        (error: Error) => error.message,
      );
      return clock.runUntil(asked);
    },
    async [Symbol.asyncDispose]() {
      life.abort();
      await clock.advance(0);
      assert.equal(api.watches, 0);
      assert.equal(clock.sleeping, 0);
    },
  };
}

test('an object has one watch, however many pods refer to it, until the last is forgotten', async () => {
  await using it = setUp();
  await it.create();
  it.objects.follow(podOf('a', 'settings'));
  it.objects.follow(podOf('b', 'settings', 'other'));
  await it.clock.advance(0);
  assert.equal(it.api.watches, 2);
  assert.equal(await it.read(), 'a=1');
  assert.equal(await it.read(), 'a=1');
  assert.deepEqual(it.calls, ['list configmaps', 'list configmaps', 'watch configmaps', 'watch configmaps']);
  it.objects.forget('b');
  await it.clock.advance(0);
  assert.equal(it.api.watches, 1);
  it.objects.follow(podOf('a'));
  await it.clock.advance(0);
  assert.equal(it.api.watches, 0);
});

test('an object that no pod refers to is requested each time', async () => {
  await using it = setUp();
  await it.create();
  assert.deepEqual([await it.read(), await it.read()], ['a=1', 'a=1']);
  assert.deepEqual(it.calls, ['get configmaps', 'get configmaps']);
  it.api.faults.next('get', { kind: 'before', error: new ApiError('Forbidden', 'configmaps "settings" is forbidden') });
  assert.equal(await it.read(), 'configmaps "settings" is forbidden');
});

test('a read of an object that is not known within a second fails, and wakes its pods later', async () => {
  await using it = setUp();
  await it.create();
  it.api.faults.setOutage(true);
  it.objects.follow(podOf('a', 'settings'));
  const startMs = it.clock.monotonic();
  assert.equal(await it.read(), 'failed to sync configmap cache: timed out waiting for the condition');
  assert.equal(it.clock.monotonic() - startMs, 1000);
  assert.deepEqual(it.woken, []);
  it.api.faults.setOutage(false);
  await it.clock.advance(LONGEST_PAUSE_MS);
  assert.deepEqual(it.woken, ['a']);
  assert.equal(await it.read(), 'a=1');
});

test('an aborted read rejects with the reason of its signal', async () => {
  await using it = setUp();
  it.api.faults.setOutage(true);
  it.objects.follow(podOf('a', 'settings'));
  const reader = new AbortController();
  const asked = it.objects.configMap('default', 'settings', reader.signal);
  reader.abort(new Error('the pod ends'));
  await assert.rejects(asked, { message: 'the pod ends' });
});

test('while the server is unavailable the last value is used, and changes are reported afterwards', async () => {
  await using it = setUp();
  await it.create();
  it.objects.follow(podOf('a', 'settings'));
  await it.clock.advance(0);
  it.api.faults.setOutage(true);
  await it.set('2');
  await it.clock.advance(LONGEST_PAUSE_MS);
  assert.equal(await it.read(), 'a=1');
  it.api.faults.setOutage(false);
  await it.clock.advance(LONGEST_PAUSE_MS);
  assert.deepEqual(it.woken, ['a']);
  assert.equal(await it.read(), 'a=2');
});

test('an expired watch is replaced by a list, which wakes pods only for changes', async () => {
  await using it = setUp();
  await it.create();
  it.objects.follow(podOf('a', 'settings'));
  await it.clock.advance(0);
  it.api.compact();
  it.api.closeWatches(new ApiError('Expired', 'too old resource version'));
  await it.clock.advance(LONGEST_PAUSE_MS);
  assert.deepEqual(it.woken, []);
  await it.set('2');
  await it.clock.advance(0);
  assert.deepEqual(it.woken, ['a']);
  assert.equal(await it.read(), 'a=2');
});

test('an object that was deleted and created again is a change', async () => {
  await using it = setUp();
  await it.create();
  it.objects.follow(podOf('a', 'settings'));
  await it.clock.advance(0);
  await it.api.direct.delete(KEY, {}, LIFE);
  await it.clock.advance(0);
  assert.equal(await it.read(), 'configmap "settings" not found');
  await it.create({ data: { a: '3' } });
  await it.clock.advance(0);
  assert.equal(await it.read(), 'a=3');
  assert.deepEqual(it.woken, ['a', 'a']);
});

test('an immutable object is not watched any more once it was read', async () => {
  await using it = setUp();
  await it.create({ immutable: true });
  it.objects.follow(podOf('a', 'settings'));
  assert.equal(await it.read(), 'a=1');
  await it.clock.advance(0);
  assert.equal(it.api.watches, 0);
  await it.clock.advance(LONGEST_PAUSE_MS);
  assert.equal(await it.read(), 'a=1');
  assert.equal(it.api.watches, 0);
});
