import assert from 'node:assert/strict';
import { test } from 'node:test';
import { silentLog } from '../../base/log.ts';
import {
  ContainerStats,
  ListContainerStatsResponse,
  ListPodSandboxStatsResponse,
  PodSandboxStats,
} from '../../cri/generated/runtime-v1.ts';
import { createMemoryHost } from '../../host/fake/memory-host.ts';
import { observedContainer, READY_SANDBOX } from '../pod/observed-container.fixture.ts';
import { RuntimeReader, type RuntimeReaderDeps, type StatsTarget } from './runtime-reader.ts';

const never = new AbortController().signal;
const POD = '/kubepods/podu1';
const MAIN = observedContainer('main', { state: 'running', startedAt: 2n });
const TARGET: StatsTarget = {
  pod: { uid: 'u1', name: 'web', namespace: 'default', sandboxes: [READY_SANDBOX], containers: [MAIN], inspectedAt: 0 },
  sandbox: READY_SANDBOX,
  containers: [MAIN],
  cgroup: POD,
};
const LAYER = { timestamp: 1_000_000_000n, fsId: { mountpoint: '/disk' }, usedBytes: { value: 5n } };
const LAYER_SHOWN = { time: '1970-01-01T00:00:01Z', mountpoint: '/disk', usedBytes: 5 };
const REPORTED = ContainerStats.fromPartial({
  attributes: { id: 'main-0' },
  memory: { timestamp: 1_000_000_000n, workingSetBytes: { value: 77n } },
  writableLayer: LAYER,
});

const hanging = () => new Promise<never>(() => {});

function setUp({
  reportsPods = false,
  ...runtime
}: Partial<RuntimeReaderDeps['runtime']> & { reportsPods?: boolean } = {}) {
  const host = createMemoryHost();
  const calls: string[] = [];
  const counted =
    <A extends unknown[], R>(name: string, call: (...args: A) => R) =>
    (...args: A): R => {
      calls.push(name);
      return call(...args);
    };
  const lists = {
    listContainerStats: async () => ListContainerStatsResponse.create({ stats: [REPORTED] }),
    listPodSandboxStats: async () =>
      ListPodSandboxStatsResponse.create({
        stats: [
          PodSandboxStats.fromPartial({
            attributes: { id: 's0' },
            linux: { process: { processCount: { value: 3n } }, containers: [REPORTED] },
          }),
        ],
      }),
    ...runtime,
  };
  const reader = new RuntimeReader({
    runtime: {
      listContainerStats: counted('containers', lists.listContainerStats),
      listPodSandboxStats: counted('sandboxes', lists.listPodSandboxStats),
    },
    cgroupStats: host.cgroupStats,
    networks: { read: async () => new Map([['s0', { time: '', name: 'eth0' }]]) },
    clock: host.clock,
    log: silentLog,
    cgroupDriver: 'cgroupfs',
    reportsPods,
  });
  const memory = { usageBytes: 0, rssBytes: 0, pageFaults: 0, majorPageFaults: 0 }; // words: quoted
  host.cgroupStats.set(POD, { cpuNs: 9n, memory: { ...memory, workingSetBytes: 20 } });
  host.cgroupStats.set(`${POD}/main-0`, {
    cpuNs: 4n,
    memory: { ...memory, workingSetBytes: 10 },
    threads: 9,
    processes: [4, 5],
  });
  const read = async (scope: 'usage' | 'all', target = TARGET) => {
    const pod = (await reader.read([target], scope, never)).get('s0');
    const main = pod?.containers.get('main-0');
    return {
      pod: pod?.memory?.workingSetBytes,
      main: main?.memory?.workingSetBytes,
      layer: main?.layer,
      network: pod?.network?.name,
      processes: pod?.processCount,
    };
  };
  return { ...host, reader, calls, read };
}

test('CPU and memory are read from cgroups without a call of the runtime', async () => {
  const { read, calls } = setUp();
  const none = { layer: undefined, network: undefined };
  assert.deepEqual(await read('usage'), { pod: 20, main: 10, processes: 2, ...none });
  assert.deepEqual(calls, []);
});

test('everything takes one call of the runtime, for the layers', async () => {
  const { read, calls } = setUp();
  assert.deepEqual(await read('all'), { pod: 20, main: 10, layer: LAYER_SHOWN, network: 'eth0', processes: 2 });
  assert.deepEqual(calls, ['containers']);
});

test('a container without a cgroup that the agent can find has what the runtime reports', async () => {
  const { read, calls, cgroupStats } = setUp();
  cgroupStats.remove(`${POD}/main-0`);
  const { pod, main } = await read('usage');
  assert.deepEqual([pod, main, calls], [20, 77, ['containers']]);
});

test('a pod whose cgroup is unknown has what the runtime reports', async () => {
  const { read } = setUp();
  const { pod, main } = await read('usage', { ...TARGET, cgroup: undefined });
  assert.deepEqual([pod, main], [undefined, 77]);
});

test('a runtime that reports whole pods is asked once, and no cgroup is read', async () => {
  const { read, calls } = setUp({ reportsPods: true });
  const { main, layer, processes } = await read('all');
  assert.deepEqual([main, layer, processes, calls], [77, LAYER_SHOWN, 3, ['sandboxes']]);
});

test('if the list of sandboxes fails, cgroups are read', async () => {
  const { read, calls } = setUp({
    reportsPods: true,
    listPodSandboxStats: async () => {
      throw new Error('no task');
    },
  });
  assert.deepEqual(await read('all'), { pod: 20, main: 10, layer: LAYER_SHOWN, network: 'eth0', processes: 2 });
  assert.deepEqual(calls, ['sandboxes', 'containers']);
});

test('a runtime that hangs costs five seconds, and only the layers are missing', async () => {
  const { read, clock } = setUp({ reportsPods: true, listPodSandboxStats: hanging, listContainerStats: hanging });
  const reading = read('all');
  await clock.advance(5_000);
  assert.deepEqual(await reading, { pod: 20, main: 10, layer: undefined, network: 'eth0', processes: 2 });
});

test('layers() returns the last sizes and reads them again in the background, once in ten seconds', async () => {
  const { reader, calls, clock } = setUp();
  assert.equal(reader.layers(never).size, 0);
  await clock.advance(1);
  assert.deepEqual(reader.layers(never).get('main-0'), LAYER_SHOWN);
  assert.deepEqual(calls, ['containers']);
  await clock.advance(10_000);
  reader.layers(never);
  reader.layers(never);
  assert.deepEqual(calls, ['containers', 'containers']);
});
