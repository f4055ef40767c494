import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Pod } from '../../api/generated/core-v1.ts';
import { type Log, silentLog } from '../../base/log.ts';
import { SeededRandom } from '../../host/fake/seeded-random.ts';
import { VirtualClock } from '../../host/fake/virtual-clock.ts';
import { ApiError } from '../api-client/api-server.ts';
import type { ApiVerb } from '../api-client/fake/api-faults.ts';
import { createMemoryApiServer } from '../api-client/fake/memory-api-server.ts';
import { createApiSource } from './api-source.ts';
import type { SourceSnapshot } from './pod-source.ts';

const LIFE = new AbortController().signal;
/** The longest delay between two attempts. */
const LONGEST_PAUSE_MS = 60_000;

function podOf(name: string, nodeName = 'box', annotations: Record<string, string> = {}): Pod {
  return {
    metadata: { name, namespace: 'default', uid: '', annotations },
    spec: { nodeName, containers: [{ name: 'main', image: 'busybox' }] },
  };
}

function setUp() {
  const clock = new VirtualClock();
  const random = new SeededRandom(1);
  const api = createMemoryApiServer({ clock, random });
  const calls: ApiVerb[] = [];
  api.faults.everyCall((verb) => {
    calls.push(verb);
    return undefined;
  });
  const warnings: string[] = [];
  const log: Log = { ...silentLog, warn: (_, fields) => warnings.push(String(fields?.['error'])) };
  const life = new AbortController();
  const source = createApiSource({ nodeName: 'box' }, { api, clock, random, log });
  const snapshots: SourceSnapshot[] = [];
  let done = Promise.resolve();
  const key = (name: string) => ({ resource: 'pods', namespace: 'default', name }) as const;
  return {
    api,
    clock,
    calls,
    warnings,
    snapshots,
    start() {
      done = (async () => {
        for await (const snapshot of source.snapshots(life.signal)) snapshots.push(snapshot);
      })();
    },
    create: (pod: Pod) => api.direct.create(key(pod.metadata.name), pod, LIFE),
    label: (name: string, app: string) => api.direct.patch(key(name), { metadata: { labels: { app } } }, {}, LIFE),
    remove: (name: string) => api.direct.delete(key(name), { graceSeconds: 0 }, LIFE),
    async after(ms: number) {
      await clock.advance(ms);
      return snapshots
        .at(-1)
        ?.pods.map(({ metadata }) => [metadata.name, metadata.labels?.['app'] ?? ''].join(' ').trim());
    },
    async [Symbol.asyncDispose]() {
      life.abort();
      await clock.advance(0);
      await done;
      assert.equal(api.watches, 0);
      assert.equal(clock.sleeping, 0);
    },
  };
}

test('a node without pods yields an empty snapshot', async () => {
  await using it = setUp();
  it.start();
  assert.deepEqual(await it.after(0), []);
  assert.equal(it.snapshots.length, 1);
});

test('only pods of this node are yielded', async () => {
  await using it = setUp();
  await it.create(podOf('web'));
  await it.create(podOf('other', 'elsewhere'));
  it.start();
  assert.deepEqual(await it.after(0), ['web']);
});

test('pods are ordered by creation time', async () => {
  await using it = setUp();
  await it.create(podOf('b'));
  await it.clock.advance(1000);
  await it.create(podOf('a'));
  it.start();
  assert.deepEqual(await it.after(0), ['b', 'a']);
});

test('a pod is annotated with its source and with the time when it was first seen', async () => {
  await using it = setUp();
  const mirrored = { 'kubernetes.io/config.mirror': 'h1', 'kubernetes.io/config.source': 'file' };
  await it.create(podOf('web', 'box', mirrored));
  it.start();
  await it.after(0);
  const annotations = {
    'kubernetes.io/config.mirror': 'h1',
    'kubernetes.io/config.source': 'api',
    'kubernetes.io/config.seen': '2026-01-01T00:00:00Z',
  };
  assert.deepEqual(it.snapshots.at(-1)?.pods[0]?.metadata.annotations, annotations);
  await it.clock.advance(5000);
  await it.label('web', 'changed');
  await it.after(0);
  assert.equal(it.snapshots.length, 2);
  assert.deepEqual(it.snapshots.at(-1)?.pods[0]?.metadata.annotations, annotations);
});

test('each change makes a snapshot at once, and simultaneous changes make one', async () => {
  await using it = setUp();
  it.start();
  await it.after(0);
  for (const name of ['a', 'b', 'c']) await it.create(podOf(name));
  await it.label('a', 'x');
  await it.remove('b');
  assert.deepEqual(await it.after(0), ['a x', 'c']);
  assert.equal(it.snapshots.length, 2);
});

test('an unchanged pod stays the same object', async () => {
  await using it = setUp();
  await it.create(podOf('a'));
  it.start();
  await it.after(0);
  await it.create(podOf('b'));
  await it.after(0);
  assert.equal(it.snapshots[1]?.pods[0], it.snapshots[0]?.pods[0]);
});

test('a pod that was deleted and recreated with its name is a new pod', async () => {
  await using it = setUp();
  const first = await it.create(podOf('web'));
  it.start();
  await it.after(0);
  await it.clock.advance(1000);
  await it.remove('web');
  const second = await it.create(podOf('web'));
  await it.after(0);
  assert.notEqual(first.metadata.uid, second.metadata.uid);
  const { uid, annotations } = it.snapshots.at(-1)?.pods[0]?.metadata ?? {};
  assert.equal(uid, second.metadata.uid);
  assert.equal(annotations?.['kubernetes.io/config.seen'], '2026-01-01T00:00:01Z');
});

test('a watch that the server closes is resumed at once and without a list', async () => {
  await using it = setUp();
  it.start();
  await it.after(2000);
  it.api.closeWatches();
  await it.create(podOf('web'));
  assert.deepEqual(await it.after(0), ['web']);
  assert.deepEqual(it.calls, ['list', 'watch', 'watch']);
  assert.deepEqual(it.warnings, []);
});

test('a watch that ends at once without an event is not resumed at once', async () => {
  await using it = setUp();
  it.start();
  await it.after(0);
  it.api.closeWatches();
  await it.after(799);
  assert.deepEqual(it.calls, ['list', 'watch']);
  await it.after(801);
  assert.deepEqual(it.calls, ['list', 'watch', 'watch']);
});

test('a bookmark updates the resource version and makes no snapshot', async () => {
  await using it = setUp();
  it.start();
  await it.after(0);
  await it.create(podOf('other', 'elsewhere'));
  it.api.sendBookmark();
  await it.after(0);
  it.api.compact();
  it.api.closeWatches();
  await it.create(podOf('web'));
  assert.deepEqual(await it.after(0), ['web']);
  assert.equal(it.snapshots.length, 2);
  assert.deepEqual(it.calls, ['list', 'watch', 'watch']);
});

test('an expired resource version leads to a new list at once', async () => {
  await using it = setUp();
  await it.create(podOf('old'));
  it.start();
  await it.after(2000);
  await it.create(podOf('other', 'elsewhere'));
  await it.create(podOf('moved'));
  await it.after(0);
  it.api.closeWatches();
  await it.create(podOf('new'));
  await it.remove('old');
  it.api.compact();
  assert.deepEqual(await it.after(0), ['moved', 'new']);
  assert.deepEqual(it.calls, ['list', 'watch', 'watch', 'list', 'watch']);
});

test('a server that expires fresh lists is retried with back-off', async () => {
  await using it = setUp();
  const expired = new ApiError('Expired', 'too old resource version');
  for (let count = 0; count < 20; count++) it.api.faults.next('watch', { kind: 'before', error: expired });
  it.start();
  await it.after(10_000);
  assert.ok(it.warnings.length <= 5, `${it.warnings.length} tries`);
});

test('a pod that was recreated during an outage has a new first-seen time', async () => {
  await using it = setUp();
  await it.create(podOf('web'));
  it.start();
  await it.after(2000);
  it.api.closeWatches();
  await it.remove('web');
  await it.create(podOf('web'));
  it.api.compact();
  await it.after(0);
  const { annotations } = it.snapshots.at(-1)?.pods[0]?.metadata ?? {};
  assert.equal(annotations?.['kubernetes.io/config.seen'], '2026-01-01T00:00:02Z');
});

test('a working watch resets the back-off', async () => {
  await using it = setUp();
  it.api.faults.setOutage(true);
  it.start();
  await it.after(300_000);
  it.api.faults.setOutage(false);
  await it.after(LONGEST_PAUSE_MS + 1000);
  it.api.closeWatches(new ApiError('Unavailable', 'connection reset'));
  await it.create(podOf('web'));
  assert.deepEqual(await it.after(1600), ['web']);
});

test('an outage removes no pod, and changes during it are yielded after it', async () => {
  await using it = setUp();
  await it.create(podOf('web'));
  it.start();
  await it.after(2000);
  it.api.faults.setOutage(true);
  await it.after(300_000);
  await it.remove('web');
  await it.create(podOf('next'));
  assert.equal(it.snapshots.length, 1);
  it.api.faults.setOutage(false);
  assert.deepEqual(await it.after(LONGEST_PAUSE_MS), ['next']);
  assert.deepEqual(
    it.calls.filter((verb) => verb === 'list'),
    ['list'],
  );
});

test('there is no snapshot before the first list', async () => {
  await using it = setUp();
  it.api.faults.setOutage(true);
  await it.create(podOf('web'));
  it.start();
  await it.after(10_000);
  assert.deepEqual(it.snapshots, []);
  assert.ok(it.warnings.length >= 3 && it.warnings.length <= 5, `${it.warnings.length} tries`);
  it.api.faults.setOutage(false);
  assert.deepEqual(await it.after(LONGEST_PAUSE_MS), ['web']);
});

test('a watch that breaks in the middle of an event loses nothing', async () => {
  await using it = setUp();
  it.start();
  await it.after(2000);
  await it.create(podOf('a'));
  it.api.closeWatches(new ApiError('Unavailable', 'connection reset'));
  await it.create(podOf('b'));
  assert.deepEqual(await it.after(0), ['a']);
  assert.deepEqual(await it.after(1600), ['a', 'b']);
  assert.deepEqual(it.calls, ['list', 'watch', 'watch']);
});

test('any other watch error leads to a new list', async () => {
  await using it = setUp();
  it.start();
  await it.after(2000);
  it.api.closeWatches(new ApiError('InternalError', 'storage is confused'));
  await it.after(1600);
  assert.deepEqual(it.calls, ['list', 'watch', 'list', 'watch']);
});

test('a Retry-After of the server is respected', async () => {
  await using it = setUp();
  it.api.faults.next('list', {
    kind: 'before',
    error: new ApiError('TooManyRequests', 'busy', { retryAfterMs: 15_000 }),
  });
  it.start();
  await it.after(14_999);
  assert.deepEqual(it.snapshots, []);
  assert.deepEqual(await it.after(1), []);
});

test('ending the iteration ends the watch', async () => {
  await using it = setUp();
  const source = createApiSource(
    { nodeName: 'box' },
    { api: it.api, clock: it.clock, random: new SeededRandom(1), log: silentLog },
  );
  const leaving = (async () => {
    for await (const _ of source.snapshots(LIFE)) break;
  })();
  await it.clock.runUntil(leaving);
});
