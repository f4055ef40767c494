/** Evictions by a whole agent, on virtual time with an in-memory machine. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Event, Pod } from '../../src/api/generated/core-v1.ts';
import { silentLog } from '../../src/base/log.ts';
import { parseQuantity } from '../../src/base/quantity.ts';
import { why } from '../../src/kubelet/explain/why.ts';
import { nodeKey } from '../../src/kubelet/node/node-cache.ts';
import type { NodeSettings } from '../../src/kubelet/node/node-settings.ts';
import type { PressureThreshold } from '../../src/kubelet/node/signals/pressure-signal.ts';
import {
  createPod,
  FOREVER,
  type MemoryAgent,
  newClusterWorld,
  podKey,
  podOf,
  startAgent,
  type World,
} from './memory-agent.ts';
import { NODE } from './node-world.ts';

const GIB = 2 ** 30;
const SECOND = 1000;
const NO_MEMORY = { usageBytes: 0, workingSetBytes: 0, rssBytes: 0, pageFaults: 0, majorPageFaults: 0 }; // words: quoted

const threshold = (signal: PressureThreshold['signal'], amount: string, gracePeriodMs = 0): PressureThreshold => ({
  signal,
  value: { quantity: parseQuantity(amount) },
  gracePeriodMs,
});

interface PressureWorld extends Required<World> {
  /** Sets the memory of the machine, or of a pod. */
  use(bytes: number, pod?: Pod): void;
  events(reason: string): Promise<readonly Event[]>;
}

async function pressureWorld(): Promise<PressureWorld> {
  const world = await newClusterWorld();
  const use = (bytes: number, pod?: Pod): void => {
    const cgroup = pod ? `/kubepods/besteffort/pod${pod.metadata.uid}` : '/';
    const memory = { ...NO_MEMORY, usageBytes: bytes, workingSetBytes: bytes };
    world.host.cgroupStats.set(cgroup, { memory });
    world.host.pressureEvents.setUsage(cgroup, bytes);
  };
  use(GIB);
  return {
    ...world,
    use,
    events: async (reason) => {
      const { items } = await world.apiServer.direct.list({ resource: 'events', namespace: 'default' }, FOREVER);
      return items.filter((each): each is Event => 'reason' in each && each.reason === reason);
    },
  };
}

function start(world: PressureWorld, node: Partial<NodeSettings>): Promise<MemoryAgent> {
  return startAgent(world, {}, silentLog, [], { node: { ...NODE, enforcesPods: false, ...node } });
}

async function statusOf({ apiServer }: PressureWorld, name: string) {
  return (await apiServer.direct.get(podKey(name), FOREVER)).status;
}

async function condition({ apiServer }: PressureWorld, type: string): Promise<string | undefined> {
  const node = await apiServer.direct.get(nodeKey(NODE.nodeName), FOREVER);
  return node.status?.conditions?.find((each) => each.type === type)?.status;
}

/** A machine whose memory is free again when a container is stopped. */
async function relievedWorld(bytes: number): Promise<PressureWorld> {
  const world = await pressureWorld();
  const { cri } = world.runtime;
  const stopContainer: typeof cri.runtime.stopContainer = async (...args) => {
    const answer = await cri.runtime.stopContainer(...args);
    world.use(bytes);
    return answer;
  };
  return { ...world, runtime: { ...world.runtime, cri: { ...cri, runtime: { ...cri.runtime, stopContainer } } } };
}

test('memory pressure evicts the pod that uses most over its request, and reports why', async () => {
  const world = await relievedWorld(2 * GIB);
  await using it = await start(world, { thresholds: [threshold('memory.available', '1Gi')] });
  it.source.set();
  const [small, large] = [await createPod(world, podOf('small')), await createPod(world, podOf('large'))];
  await createPod(world, podOf('vital', { priority: 2_000_000_000 }));
  await world.host.clock.advance(5 * SECOND);
  world.use(GIB, small);
  world.use(14 * GIB, large);
  world.use(15.5 * GIB);
  await world.host.clock.advance(10 * SECOND);

  const status = await statusOf(world, 'large');
  const message =
    'The node was low on resource: memory. Threshold quantity: 1Gi, available: 512Mi. ' +
    'Container main was using 1Mi, request is 0, has larger consumption of memory. ';
  assert.equal(status?.phase, 'Failed');
  assert.equal(status?.reason, 'Evicted');
  assert.equal(status?.message, message);
  const target = status?.conditions?.find(({ type }) => type === 'DisruptionTarget');
  assert.deepEqual([target?.status, target?.reason, target?.message], ['True', 'TerminationByKubelet', message]);
  const [evicted, ...more] = await world.events('Evicted');
  assert.deepEqual(more, []);
  assert.deepEqual([evicted?.type, evicted?.message, evicted?.involvedObject.name], ['Warning', message, 'large']);
  assert.equal(evicted?.metadata.annotations?.['starved_resource'], 'memory');
  const [met] = await world.events('EvictionThresholdMet');
  assert.deepEqual([met?.message, met?.involvedObject.kind], ['Attempting to reclaim memory', 'Node']);
  assert.equal(await condition(world, 'MemoryPressure'), 'True');
  const report = it.agent.pods().find(({ pod }) => pod.metadata.name === 'large');
  assert.ok(report);
  assert.deepEqual(why(report, world.host.clock.now()).slice(0, 2), [
    'large was evicted: the node was short of memory (512Mi left, evicts below 1Gi).',
    `The reason: ${message.trim()}`,
  ]);
  // The pressure is over: no other pod is evicted.
  await world.host.clock.advance(60 * SECOND);
  assert.equal((await statusOf(world, 'small'))?.phase, 'Running');
  assert.equal((await statusOf(world, 'vital'))?.phase, 'Running');
});

test('pods are evicted one after the other while the pressure lasts, critical pods never', async () => {
  const world = await pressureWorld();
  await using it = await start(world, { thresholds: [threshold('memory.available', '1Gi')] });
  const fromFile = podOf('static');
  const annotations = { 'kubernetes.io/config.source': 'file' };
  it.source.set({ ...fromFile, metadata: { ...fromFile.metadata, annotations } });
  const first = await createPod(world, podOf('first'));
  const second = await createPod(world, podOf('second', { priority: 1 }));
  await createPod(world, podOf('vital', { priority: 2_000_000_000 }));
  await world.host.clock.advance(5 * SECOND);
  for (const pod of [first, second]) world.use(GIB, pod);
  world.use(15.75 * GIB);
  await world.host.clock.advance(12 * SECOND);
  const evicted = (await world.events('Evicted')).map(({ involvedObject }) => involvedObject.name);
  assert.deepEqual(evicted, ['first', 'second']);
  await world.host.clock.advance(60 * SECOND);
  assert.equal((await world.events('Evicted')).length, 2);
  assert.equal((await statusOf(world, 'vital'))?.phase, 'Running');
  assert.equal(it.agent.pods().find(({ pod }) => pod.metadata.name === 'static')?.status.phase, 'Running');
});

test('the kernel reports memory pressure long before the next check', async () => {
  const world = await pressureWorld();
  await using it = await start(world, { thresholds: [threshold('memory.available', '1Gi')] });
  it.source.set();
  const pod = await createPod(world, podOf('web'));
  await world.host.clock.advance(15 * SECOND);
  world.use(15.5 * GIB, pod);
  world.use(15.5 * GIB);
  world.host.pressureEvents.stall();
  await world.host.clock.advance(200);
  assert.equal((await world.events('Evicted')).length, 1);
});

test('a soft threshold evicts after its grace period, with the grace period of the configuration', async () => {
  const world = await pressureWorld();
  const thresholds = [threshold('memory.available', '1Gi', 30 * SECOND)];
  await using it = await start(world, { thresholds, evictionMaxPodGraceSeconds: 5 });
  it.source.set();
  const pod = await createPod(world, podOf('web', { terminationGracePeriodSeconds: 60 }));
  await world.host.clock.advance(5 * SECOND);
  world.use(15.5 * GIB, pod);
  world.use(15.5 * GIB);
  await world.host.clock.advance(25 * SECOND);
  assert.equal(await condition(world, 'MemoryPressure'), 'True');
  assert.equal((await world.events('Evicted')).length, 0);
  await world.host.clock.advance(20 * SECOND);
  assert.equal((await world.events('Evicted')).length, 1);
  await world.host.clock.advance(10 * SECOND);
  assert.equal((await statusOf(world, 'web'))?.reason, 'Evicted');
});

test('a best-effort pod is rejected under memory pressure', async () => {
  const world = await pressureWorld();
  await using it = await start(world, { thresholds: [threshold('memory.available', '1Gi')] });
  it.source.set();
  world.use(15.5 * GIB);
  await world.host.clock.advance(11 * SECOND);
  await createPod(world, podOf('late'));
  await world.host.clock.advance(2 * SECOND);
  const status = await statusOf(world, 'late');
  assert.deepEqual(
    [status?.phase, status?.reason, status?.message],
    ['Failed', 'Evicted', 'Pod was rejected: The node had condition: [MemoryPressure]. '],
  );
});

test('an agent that restarts under pressure keeps the pods that run', async () => {
  const world = await pressureWorld();
  const node = { thresholds: [threshold('nodefs.available', '1Gi', 3_600 * SECOND)] };
  const first = await start(world, node);
  first.source.set();
  await createPod(world, podOf('web'));
  await world.host.clock.advance(5 * SECOND);
  const usage = { capacityBytes: 100 * GIB, availableBytes: GIB / 2, inodes: 10, inodesFree: 9 };
  world.host.fs.setUsage(NODE.rootDir, usage);
  await world.host.clock.advance(11 * SECOND);
  assert.equal(await condition(world, 'DiskPressure'), 'True');
  await first.stop();
  await using second = await start(world, node);
  await world.host.clock.advance(1 * SECOND);
  second.source.set();
  await world.host.clock.advance(30 * SECOND);
  assert.equal((await statusOf(world, 'web'))?.phase, 'Running');
  await createPod(world, podOf('late'));
  await world.host.clock.advance(2 * SECOND);
  assert.equal((await statusOf(world, 'late'))?.reason, 'Evicted');
});

test('a full disk removes unused images, and evicts only if that is not enough', async () => {
  const world = await pressureWorld();
  const { images } = world.runtime.cri;
  const usage = { capacityBytes: 100 * GIB, availableBytes: GIB / 2, inodes: 10, inodesFree: 9 };
  let freed = 2 * GIB;
  const removeImage: typeof images.removeImage = async (...args) => {
    world.host.fs.setUsage(NODE.rootDir, { ...usage, availableBytes: usage.availableBytes + freed });
    return images.removeImage(...args);
  };
  const runtime = { ...world.runtime, cri: { ...world.runtime.cri, images: { ...images, removeImage } } };
  await using it = await start({ ...world, runtime }, { thresholds: [threshold('nodefs.available', '1Gi')] });
  it.source.set();
  await createPod(world, podOf('web'));
  world.runtime.addImage('unused:1');
  await world.host.clock.advance(400 * SECOND);
  world.host.fs.setUsage(NODE.rootDir, usage);
  await world.host.clock.advance(20 * SECOND);
  assert.equal((await statusOf(world, 'web'))?.phase, 'Running');
  assert.equal(await condition(world, 'DiskPressure'), 'True');

  freed = 0;
  world.runtime.addImage('unused:2');
  world.host.fs.setUsage(NODE.rootDir, usage);
  await world.host.clock.advance(20 * SECOND);
  assert.equal((await statusOf(world, 'web'))?.reason, 'Evicted');
  assert.match((await statusOf(world, 'web'))?.message ?? '', /^The node was low on resource: ephemeral-storage\. /);
});

test('an agent without a node of its own evicts nothing', async () => {
  const world = await pressureWorld();
  await using it = await startAgent(world);
  it.source.set();
  const pod = await createPod(world, podOf('web'));
  await world.host.clock.advance(5 * SECOND);
  world.use(16 * GIB, pod);
  world.use(16 * GIB);
  await world.host.clock.advance(60 * SECOND);
  assert.equal((await statusOf(world, 'web'))?.phase, 'Running');
});
