import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Pod, PodStatus } from '../../api/generated/core-v1.ts';
import { silentLog } from '../../base/log.ts';
import { SeededRandom } from '../../host/fake/seeded-random.ts';
import { VirtualClock } from '../../host/fake/virtual-clock.ts';
import { ApiError } from '../api-client/api-server.ts';
import { createMemoryApiServer } from '../api-client/fake/memory-api-server.ts';
import { StatusStore } from './status-store.ts';
import { createStatusWriter } from './status-writer.ts';

const LIFE = new AbortController().signal;
const LOST = new ApiError('Unavailable', 'connection reset');
/** Longer than any pause between two tries. */
const LONG_MS = 20_000;
const key = { resource: 'pods', namespace: 'default', name: 'web' } as const;

const running: PodStatus = {
  phase: 'Running',
  conditions: [{ type: 'Ready', status: 'True', lastTransitionTime: '2026-01-01T00:00:00Z' }],
  startTime: '2026-01-01T00:00:00Z',
};
const unready: PodStatus = {
  ...running,
  conditions: [{ type: 'Ready', status: 'False', reason: 'ContainersNotReady' }],
};
const succeeded: PodStatus = { ...running, phase: 'Succeeded', conditions: [] };

function newPod(metadata: Partial<Pod['metadata']> = {}): Pod {
  return {
    metadata: { name: 'web', namespace: 'default', uid: '', ...metadata },
    spec: { nodeName: 'box', containers: [{ name: 'main', image: 'busybox' }], terminationGracePeriodSeconds: 30 },
  };
}

/** A writer with an API server; the test controls its dependencies. */
function setUp() {
  const clock = new VirtualClock();
  const random = new SeededRandom(1);
  const api = createMemoryApiServer({ clock, random });
  const sent: string[] = [];
  api.faults.everyCall((verb) => {
    sent.push(verb);
    return undefined;
  });
  const statuses = new StatusStore();
  const world = { seen: new Map<string, Pod>(), mayRun: true, finished: false };
  const writer = createStatusWriter({
    statuses,
    api,
    clock,
    random,
    log: silentLog,
    apiPodOf: ({ metadata: { uid } }) => world.seen.get(uid),
    hasRunningContainers: () => world.mayRun,
    podCanBeDeleted: () => world.finished,
  });
  const life = new AbortController();
  const done = writer.run(life.signal);
  return {
    api,
    clock,
    statuses,
    writer,
    world,
    sent,
    find: () => api.direct.get(key, LIFE).catch(() => undefined),
    /** A user makes the pod, and the agent sees it. */
    async create(metadata: Partial<Pod['metadata']> = {}): Promise<Pod> {
      const pod = await api.direct.create(key, newPod(metadata), LIFE);
      world.seen.set(pod.metadata.uid, pod);
      return pod;
    },
    /** The watch delivers the present pod. */
    async look(uid: string) {
      const pod = await api.direct.get(key, LIFE).catch(() => undefined);
      if (pod?.metadata.uid === uid) world.seen.set(uid, pod);
      else world.seen.delete(uid);
      writer.reconcile(uid);
      await clock.advance(0);
    },
    async status(): Promise<PodStatus | undefined> {
      await clock.advance(0);
      return (await api.direct.get(key, LIFE).catch(() => undefined))?.status;
    },
    async [Symbol.asyncDispose]() {
      life.abort();
      await clock.advance(0);
      await done;
      assert.equal(clock.sleeping, 0);
    },
  };
}

test('a status is sent at once and once', async () => {
  await using it = setUp();
  const pod = await it.create();
  it.statuses.update(pod, running);
  const status = await it.status();
  assert.equal(status?.phase, 'Running');
  assert.deepEqual(status?.conditions, running.conditions);
  await it.look(pod.metadata.uid);
  await it.clock.advance(LONG_MS);
  assert.deepEqual(it.sent, ['patch']);
});

test('a status from before the writer ran is sent', async () => {
  const it = setUp();
  const early = createStatusWriter({
    statuses: it.statuses,
    api: it.api,
    clock: it.clock,
    random: new SeededRandom(1),
    log: silentLog,
    apiPodOf: ({ metadata: { uid } }) => it.world.seen.get(uid),
    hasRunningContainers: () => true,
    podCanBeDeleted: () => false,
  });
  await it[Symbol.asyncDispose]();
  const pod = await it.create();
  it.statuses.update(pod, running);
  await it.clock.advance(0);
  assert.deepEqual(it.sent, []);
  const life = new AbortController();
  const done = early.run(life.signal);
  assert.equal((await it.status())?.phase, 'Running');
  life.abort();
  await done;
});

test('a new agent sends nothing when the API server is up to date', async () => {
  await using it = setUp();
  const pod = await it.create();
  const patched = await it.api.direct.patch(key, { status: running }, { subresource: 'status' }, LIFE);
  it.world.seen.set(pod.metadata.uid, patched);
  it.statuses.update(patched, running);
  await it.status();
  assert.deepEqual(it.sent, []);
});

test('while a request is under way the last of several statuses waits, and the others are not sent', async () => {
  await using it = setUp();
  const pod = await it.create();
  it.api.faults.next('patch', { kind: 'delay', ms: 1000 });
  it.statuses.update(pod, { phase: 'Pending', message: 'first' });
  await it.status();
  it.statuses.update(pod, { phase: 'Pending', message: 'second' });
  it.statuses.update(pod, running);
  await it.clock.advance(1000);
  const status = await it.status();
  assert.deepEqual([status?.phase, status?.message], ['Running', undefined]);
  assert.deepEqual(it.sent, ['patch']); // and the one that was delayed
});

test("others' conditions stay, also those that came since the pod was last seen", async () => {
  await using it = setUp();
  const pod = await it.create();
  const gate = { type: 'example.com/gate', status: 'True' };
  await it.api.direct.patch(key, { status: { conditions: [gate] } }, { subresource: 'status' }, LIFE);
  const conditions = async (): Promise<Record<string, string>> =>
    Object.fromEntries((await it.status())?.conditions?.map(({ type, status }) => [type, status]) ?? []);
  it.statuses.update(pod, running);
  assert.deepEqual(await conditions(), { 'example.com/gate': 'True', Ready: 'True' });
  it.statuses.update(pod, unready);
  assert.deepEqual(await conditions(), { 'example.com/gate': 'True', Ready: 'False' });
});

test('a foreign change of the fields of the agent is corrected when it is observed', async () => {
  await using it = setUp();
  const pod = await it.create();
  it.statuses.update(pod, running);
  await it.status();
  await it.api.direct.patch(key, { status: { phase: 'Pending', podIP: '1.2.3.4' } }, { subresource: 'status' }, LIFE);
  await it.look(pod.metadata.uid);
  const status = await it.status();
  assert.deepEqual([status?.phase, status?.podIP], ['Running', undefined]);
  await it.look(pod.metadata.uid);
  assert.deepEqual(it.sent, ['patch', 'patch']);
});

test('a late version from the watch causes no further request', async () => {
  await using it = setUp();
  const pod = await it.create();
  it.statuses.update(pod, running);
  await it.status();
  it.statuses.update(pod, unready);
  await it.status();
  it.writer.reconcile(pod.metadata.uid); // what was seen last is from before both
  await it.status();
  assert.deepEqual(it.sent, ['patch', 'patch']);
});

test('an outage is waited out, and then what is true at that time is sent', async () => {
  await using it = setUp();
  const pod = await it.create();
  it.api.faults.setOutage(true);
  it.statuses.update(pod, { phase: 'Pending', message: 'old' });
  await it.clock.advance(60_000);
  it.statuses.update(pod, running);
  await it.clock.advance(60_000);
  it.api.faults.setOutage(false);
  await it.clock.advance(LONG_MS);
  assert.equal((await it.status())?.phase, 'Running');
  assert.deepEqual(it.sent, ['patch']);
});

test('an answer that is lost does no harm', async () => {
  await using it = setUp();
  const pod = await it.create();
  it.api.faults.next('patch', { kind: 'after', error: LOST });
  it.statuses.update(pod, running);
  await it.clock.advance(LONG_MS);
  assert.deepEqual((await it.status())?.conditions, running.conditions);
});

test('the Retry-After of a busy server is respected', async () => {
  await using it = setUp();
  const pod = await it.create();
  const busy = new ApiError('TooManyRequests', 'busy', { retryAfterMs: 5000 });
  it.api.faults.next('patch', { kind: 'before', error: busy });
  it.statuses.update(pod, running);
  await it.clock.advance(4999);
  assert.equal((await it.status())?.phase, 'Pending');
  await it.clock.advance(1);
  assert.equal((await it.status())?.phase, 'Running');
});

test('a conflict on the same pod is tried again', async () => {
  await using it = setUp();
  const pod = await it.create();
  it.api.faults.next('patch', { kind: 'before', error: new ApiError('Conflict', 'modified') });
  it.statuses.update(pod, running);
  await it.clock.advance(LONG_MS);
  assert.equal((await it.status())?.phase, 'Running');
  assert.deepEqual(it.sent, ['get', 'patch']);
});

test('a new pod of the same name is not changed', async () => {
  await using it = setUp();
  const pod = await it.create();
  await it.api.direct.delete(key, { graceSeconds: 0 }, LIFE);
  await it.api.direct.create(key, newPod(), LIFE);
  it.statuses.update(pod, running);
  await it.clock.advance(LONG_MS);
  assert.equal((await it.status())?.phase, 'Pending');
  it.statuses.update(pod, unready);
  await it.clock.advance(LONG_MS);
  assert.deepEqual(it.sent, ['patch', 'get']); // it is known to be gone by then
});

test('no status is sent for a deleted pod', async () => {
  await using it = setUp();
  const pod = await it.create();
  await it.api.direct.delete(key, { graceSeconds: 0 }, LIFE);
  it.statuses.update(pod, running);
  await it.clock.advance(LONG_MS);
  it.statuses.update(pod, unready);
  await it.clock.advance(LONG_MS);
  assert.deepEqual(it.sent, ['patch']);
});

test('a terminal phase is sent when no container can run any more', async () => {
  await using it = setUp();
  const pod = await it.create();
  it.statuses.update(pod, running);
  await it.status();
  it.statuses.update(pod, succeeded);
  assert.equal((await it.status())?.phase, 'Running');
  it.world.mayRun = false;
  it.writer.reconcile(pod.metadata.uid);
  assert.equal((await it.status())?.phase, 'Succeeded');
});

test('a deleted pod is removed when it has ended, its status is sent, and its resources are released', async () => {
  await using it = setUp();
  const pod = await it.create();
  it.statuses.update(pod, running);
  await it.status();
  await it.api.direct.delete(key, {}, LIFE);
  await it.look(pod.metadata.uid);
  it.world.mayRun = false;
  it.statuses.update(pod, succeeded);
  assert.equal((await it.status())?.phase, 'Succeeded');
  it.world.finished = true;
  it.writer.reconcile(pod.metadata.uid);
  assert.equal(await it.status(), undefined);
  it.writer.reconcile(pod.metadata.uid);
  await it.status();
  assert.deepEqual(it.sent, ['patch', 'patch', 'delete']);
});

test('a pod does not go before its last status was sent', async () => {
  await using it = setUp();
  const pod = await it.create();
  await it.api.direct.delete(key, {}, LIFE);
  await it.look(pod.metadata.uid);
  Object.assign(it.world, { mayRun: false, finished: true });
  it.api.faults.next('patch', { kind: 'delay', ms: 1000 });
  it.statuses.update(pod, succeeded);
  await it.status();
  it.statuses.update(pod, { ...succeeded, message: 'the last word' });
  await it.clock.advance(1000);
  assert.equal(await it.status(), undefined);
  assert.deepEqual(it.sent, ['patch', 'delete']); // after the one that was delayed
});

test('a pod that took the place of the one to be deleted stays', async () => {
  await using it = setUp();
  const pod = await it.create();
  it.statuses.update(pod, running);
  await it.api.direct.delete(key, {}, LIFE);
  await it.look(pod.metadata.uid);
  it.world.mayRun = false;
  it.statuses.update(pod, succeeded);
  await it.status();
  await it.api.direct.delete(key, { graceSeconds: 0 }, LIFE);
  const next = await it.api.direct.create(key, newPod(), LIFE);
  it.world.finished = true;
  it.writer.reconcile(pod.metadata.uid);
  await it.clock.advance(LONG_MS);
  assert.equal((await it.find())?.metadata.uid, next.metadata.uid);
  assert.deepEqual(it.sent, ['patch', 'patch', 'delete', 'get']);
});

test('a pod that is not deleted stays when it has ended', async () => {
  await using it = setUp();
  const pod = await it.create();
  Object.assign(it.world, { mayRun: false, finished: true });
  it.statuses.update(pod, succeeded);
  assert.equal((await it.status())?.phase, 'Succeeded');
  assert.deepEqual(it.sent, ['patch']);
});

for (const kind of ['before', 'after'] as const) {
  test(`a deletion that fails ${kind} its effect is tried again`, async () => {
    await using it = setUp();
    const pod = await it.create();
    await it.api.direct.delete(key, {}, LIFE);
    await it.look(pod.metadata.uid);
    Object.assign(it.world, { mayRun: false, finished: true });
    it.api.faults.next('delete', { kind, error: LOST });
    it.statuses.update(pod, succeeded);
    await it.clock.advance(LONG_MS);
    assert.equal(await it.find(), undefined);
  });
}

test('a pod that a finalizer keeps is deleted once', async () => {
  await using it = setUp();
  const pod = await it.create({ finalizers: ['example.com/keep'] });
  await it.api.direct.delete(key, {}, LIFE);
  await it.look(pod.metadata.uid);
  Object.assign(it.world, { mayRun: false, finished: true });
  it.statuses.update(pod, succeeded);
  await it.status();
  await it.look(pod.metadata.uid);
  await it.look(pod.metadata.uid);
  assert.equal((await it.find())?.metadata.deletionGracePeriodSeconds, 0);
  assert.deepEqual(it.sent, ['patch', 'delete']);
});

test('the status of a static pod goes to its mirror, and to the next one when that is made anew', async () => {
  await using it = setUp();
  const etcd = newPod({ uid: 'h1', annotations: { 'kubernetes.io/config.source': 'file' } });
  it.statuses.update(etcd, running);
  await it.status();
  assert.deepEqual(it.sent, []);
  const annotations = { 'kubernetes.io/config.mirror': 'h1' };
  for (const round of ['first', 'second']) {
    const mirror = await it.create({ annotations: { ...annotations, round } });
    it.world.seen.set('h1', mirror);
    it.writer.reconcile('h1');
    assert.equal((await it.status())?.phase, 'Running');
    await it.api.direct.delete(key, { graceSeconds: 0 }, LIFE);
  }
  assert.deepEqual(it.sent, ['patch', 'patch']);
});

test('a mirror that a user deletes is not deleted by the writer', async () => {
  await using it = setUp();
  const etcd = newPod({ uid: 'h1', annotations: { 'kubernetes.io/config.source': 'file' } });
  await it.create({ annotations: { 'kubernetes.io/config.mirror': 'h1' } });
  await it.api.direct.delete(key, {}, LIFE);
  const mirror = await it.find();
  if (mirror) it.world.seen.set('h1', mirror);
  Object.assign(it.world, { mayRun: false, finished: true });
  it.statuses.update(etcd, succeeded);
  assert.equal((await it.status())?.phase, 'Succeeded');
  assert.deepEqual(it.sent, ['patch']);
});

test('a UID that returns after its removal starts from scratch', async () => {
  await using it = setUp();
  const pod = await it.create();
  it.statuses.update(pod, running);
  await it.status();
  it.statuses.remove(pod.metadata.uid);
  it.writer.reconcile(pod.metadata.uid);
  await it.status();
  it.statuses.update(pod, unready);
  assert.equal((await it.status())?.conditions?.[0]?.status, 'False');
});
