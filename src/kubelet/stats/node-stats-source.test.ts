import assert from 'node:assert/strict';
import { test } from 'node:test';
import { silentLog } from '../../base/log.ts';
import { createFakeRuntime } from '../../cri/fake/fake-runtime.ts';
import { createMemoryHost } from '../../host/fake/memory-host.ts';
import { observedContainer, READY_SANDBOX } from '../pod/observed-container.fixture.ts';
import type { ObservedPod } from '../pod/observed-pod.ts';
import { LogUsages } from './log-usages.ts';
import { NodeReader } from './node-reader.ts';
import { NodeStatsSource } from './node-stats-source.ts';
import { type PodReading, RuntimeReader } from './runtime-reader.ts';

const never = new AbortController().signal;
const WHOLE = { onlyCpuAndMemory: false };
const MAIN = observedContainer('main', { state: 'running', startedAt: 2n });
const DISK = { capacityBytes: 1000, availableBytes: 300, usedBytes: 650, inodes: 50, inodesFree: 10 };
const PROC: Record<string, string> = {
  '/proc/meminfo': 'MemTotal: 1000 kB\nMemFree: 1 kB\nSwapTotal: 2 kB\nSwapFree: 1 kB\n',
  '/proc/stat': 'cpu 0\nbtime 1000\n',
  '/proc/self/cgroup': '0::/agent\n',
  '/proc/loadavg': '1.36 3.49 4.53 2/350 3715089\n',
  '/proc/sys/kernel/pid_max': '32768\n',
  '/proc/sys/kernel/threads-max': '1000\n',
  '/proc/net/dev': 'a\nb\n eth0: 5 1 0 0 0 0 0 0 7 1 0 0 0 0 0 0\n',
};

function observed(...containers: ObservedPod['containers']): ObservedPod {
  return { uid: 'u1', name: 'web', namespace: 'default', sandboxes: [READY_SANDBOX], containers, inspectedAt: 0 };
}

async function setUp(proc: Record<string, string> = PROC) {
  const host = createMemoryHost();
  const { fs, clock, cgroupStats } = host;
  const { cri } = createFakeRuntime(host);
  for (const [path, text] of Object.entries(proc)) {
    await fs.makeDirectory(path.slice(0, path.lastIndexOf('/')));
    await fs.writeFile(path, text);
  }
  fs.setUsage('/', DISK);
  await fs.makeDirectory('/kubelet');
  const pods = new Map([['u1', observed(MAIN)]]);
  const images = { hang: false };
  const node = new NodeReader(
    {
      nodeName: 'box',
      rootDir: '/kubelet',
      memoryCapacityBytes: 1000,
      podsCgroup: '/kubepods',
      systemCgroup: '/system',
    },
    {
      fs,
      cgroupStats,
      clock,
      log: silentLog,
      images: { imageFsInfo: (...args) => (images.hang ? new Promise(() => {}) : cri.images.imageFsInfo(...args)) },
    },
  );
  const reading = { count: 0, next: undefined as Promise<ReadonlyMap<string, PodReading>> | undefined };
  const networks = { read: async () => new Map() };
  const reader = new RuntimeReader({
    ...{
      runtime: cri.runtime,
      cgroupStats,
      networks,
      clock,
      log: silentLog,
      cgroupDriver: 'cgroupfs',
      reportsPods: false,
    },
  });
  const source = new NodeStatsSource(
    {
      observed: { all: pods },
      cadvisor: { page: async () => '' },
      podOf: (uid) => ({ metadata: { name: 'web', namespace: 'default', uid }, spec: { containers: [] } }),
      cgroupOf: () => '/kubepods/podu1',
      node,
      reader: {
        layers: (signal) => reader.layers(signal),
        read: (...args) => {
          reading.count++;
          return reading.next ?? reader.read(...args);
        },
      },
      logs: new LogUsages({ fs, clock, rootDir: '/kubelet', podLogsDir: '/logs' }, never),
      volumes: { latest: () => new Map(), measureNow: async () => undefined },
      fs,
      clock,
      rootDir: '/kubelet',
    },
    never,
  );
  for (const path of ['/', '/kubepods', '/agent', '/kubepods/podu1', '/kubepods/podu1/main-0']) {
    cgroupStats.set(path, { cpuNs: 7n });
  }
  return { ...host, source, pods, reading, images };
}

test('the summary has the node, its system containers and the pods that run', async () => {
  const { source, pods } = await setUp();
  pods.set('u2', { ...observed(observedContainer('main', { state: 'created' })), uid: 'u2' });
  const { node, pods: shown } = await source.summary(WHOLE, never);
  assert.deepEqual(
    node.systemContainers?.map(({ name }) => name),
    ['kubelet', 'pods'],
  );
  assert.deepEqual(
    shown.map(({ podRef, containers }) => [podRef.uid, containers[0]?.name]),
    [['u1', 'main']],
  );
  const { time: _, ...rlimit } = node.rlimit ?? { time: '' };
  assert.deepEqual(
    [
      node.startTime,
      rlimit,
      node.fs?.usedBytes,
      node.fs?.inodesUsed,
      node.network?.rxBytes,
      node.memory?.availableBytes,
    ],
    ['1970-01-01T00:16:40Z', { maxpid: 1000, curproc: 350 }, 650, 40, 5, 1000],
  );
  assert.ok(node.runtime?.imageFs && node.runtime.containerFs);
});

test('a summary of CPU and memory has no disks and networks', async () => {
  const { source } = await setUp();
  const { node, pods } = await source.summary({ onlyCpuAndMemory: true }, never);
  assert.deepEqual([node.fs, node.network, node.runtime, node.rlimit], [undefined, undefined, undefined, undefined]);
  assert.deepEqual(Object.keys(pods[0] ?? {}), ['podRef', 'startTime', 'containers', 'cpu', 'memory']);
});

test('what cannot be read of the node is missing', async () => {
  const { source } = await setUp({ '/proc/loadavg': '' });
  const { node } = await source.summary(WHOLE, never);
  assert.deepEqual([node.network, node.rlimit], [undefined, undefined]);
  assert.ok(node.cpu && node.fs);
});

test('an image file system that is not answered for ends with its deadline', async () => {
  const { source, clock, images } = await setUp();
  images.hang = true;
  const reading = source.summary(WHOLE, never);
  await clock.advance(5_000);
  const { node, pods } = await reading;
  assert.deepEqual([node.runtime, pods.length], [undefined, 1]);
});

test('concurrent summaries share one reading, which is kept for a second', async () => {
  const { source, reading, clock } = await setUp();
  await Promise.all([source.summary(WHOLE, never), source.summary(WHOLE, never)]);
  await source.summary(WHOLE, never);
  assert.equal(reading.count, 1);
  await clock.advance(1_000);
  await source.summary(WHOLE, never);
  assert.equal(reading.count, 2);
});

test('pods() reads each time, but not twice at once', async () => {
  const { source, reading } = await setUp();
  await Promise.all([source.pods(never), source.pods(never)]);
  await source.pods(never);
  assert.equal(reading.count, 2);
});

test('a caller that goes away does not end the reading of others', async () => {
  const { source, reading } = await setUp();
  const open = Promise.withResolvers<ReadonlyMap<string, PodReading>>();
  reading.next = open.promise;
  const gone = new AbortController();
  const [first, second] = [source.pods(gone.signal), source.pods(never)];
  gone.abort(new Error('gone'));
  await assert.rejects(first, /gone/);
  open.resolve(new Map());
  assert.equal((await second).length, 1);
});

test('a pod that ends during a reading has the figures that were read', async () => {
  const { source, pods, reading } = await setUp();
  const open = Promise.withResolvers<ReadonlyMap<string, PodReading>>();
  reading.next = open.promise;
  const result = source.pods(never);
  pods.clear();
  open.resolve(new Map());
  const [pod] = await result;
  assert.deepEqual([pod?.podRef.uid, pod?.containers], ['u1', []]);
});
