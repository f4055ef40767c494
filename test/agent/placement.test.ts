/** CPUs and memory of NUMA nodes, assigned to pods by an agent on virtual time, also across kills of the agent. */
import assert from 'node:assert/strict';
import { dirname } from 'node:path/posix';
import { test } from 'node:test';
import type { Pod } from '../../src/api/generated/core-v1.ts';
import type { AgentSettings } from '../../src/app/agent.ts';
import { silentLog } from '../../src/base/log.ts';
import { parseQuantity } from '../../src/base/quantity.ts';
import { decodeMemory } from '../../src/kubelet/memory-manager/memory-checkpoint.ts';
import { devicesOf, FakeDevicePlugin } from '../../src/plugins/fake/fake-device-plugin.ts';
import { type MemoryAgent, newWorld, podOf, SETTINGS, startAgent, type World } from './memory-agent.ts';
import { NODE } from './node-world.ts';

const FOREVER = new AbortController().signal;
const STATE = `${SETTINGS.rootDir}/memory_manager_state`;

/** Two sockets, each a NUMA node with four CPUs and 8 GiB. */
async function newMachine(): Promise<World> {
  const world = newWorld();
  const { fs } = world.host;
  const write = async (path: string, text: string): Promise<void> => {
    await fs.makeDirectory(dirname(path));
    await fs.writeFile(path, text);
  };
  const system = '/sys/devices/system';
  await write(`${system}/cpu/online`, '0-7\n');
  for (const node of [0, 1]) {
    await write(`${system}/node/node${node}/meminfo`, `Node ${node} MemTotal: ${8 * 2 ** 20} kB\n`);
    await write(`${system}/node/node${node}/distance`, node === 0 ? '10 20\n' : '20 10\n');
    for (const cpu of [0, 1, 2, 3].map((each) => node * 4 + each)) {
      await write(`${system}/cpu/cpu${cpu}/topology/core_id`, `${cpu}\n`);
      await write(`${system}/cpu/cpu${cpu}/topology/physical_package_id`, `${node}\n`);
      await fs.makeDirectory(`${system}/node/node${node}/cpu${cpu}`);
    }
  }
  return world;
}

const MANAGED: Partial<AgentSettings> = {
  cpuManager: {
    policy: 'static',
    options: {},
    gates: { alphaOptions: false, betaOptions: true },
    reconcilePeriodMs: 10_000,
    reservedSystemCpus: '0',
    reservedMilliCpus: 0n,
    topologyManagerPolicy: 'single-numa-node',
    disablesQuota: true,
  },
  memoryManager: { policy: 'Static', reserved: [{ numaNode: 0, limits: { memory: '1Gi' } }] },
  topologyManager: { policy: 'single-numa-node', scope: 'container', options: {} },
  staticManagers: { cpu: true, memory: true },
};

const RESERVING = { ...NODE, kubeReserved: new Map([['memory', parseQuantity('1Gi')]]) };

function start(world: World, settings: Partial<AgentSettings> = MANAGED): Promise<MemoryAgent> {
  return startAgent(world, settings, silentLog, [], { node: RESERVING });
}

function guaranteed(name: string, cpu: string, memory: string): Pod {
  const requests = { cpu, memory };
  return podOf(name, { containers: [{ name: 'main', image: 'busybox:1', resources: { requests, limits: requests } }] });
}

async function runs(agent: MemoryAgent, ...pods: Pod[]): Promise<void> {
  agent.source.set(...pods);
  await agent.host.clock.advance(1000);
}

/** The phase and the placement of each container in the runtime. */
function placements({ agent, runtime }: MemoryAgent): readonly string[] {
  const containers = [...runtime.containers.values()].map(({ config }) => {
    const { cpusetCpus, cpusetMems, cpuQuota } = config.linux?.resources ?? {};
    return `${config.labels['io.kubernetes.pod.name']} cpus=${cpusetCpus} mems=${cpusetMems} quota=${cpuQuota}`;
  });
  const phases = agent.pods().map(({ pod, status }) => `${pod.metadata.name} ${status.phase}`);
  return [...phases, ...containers];
}

async function assignedUids({ host }: World): Promise<readonly string[]> {
  return [...decodeMemory(await host.fs.readText(STATE)).assignments.keys()];
}

test('a pod gets CPUs and memory of one NUMA node, without a CPU quota, and gives them back', async () => {
  const world = await newMachine();
  await using it = await start(world);
  await runs(it, guaranteed('web', '2', '2Gi'), guaranteed('db', '3', '6Gi'));
  assert.deepEqual(placements(it), [
    'web Running',
    'db Running',
    'web cpus=1-2 mems=0 quota=-1',
    'db cpus=4-6 mems=1 quota=-1',
  ]);
  const { cpuQuotaMicroseconds } = world.host.cgroups.valuesOf('/kubepods/poduid-web') ?? {};
  assert.equal(cpuQuotaMicroseconds, -1);
  assert.deepEqual(await assignedUids(world), ['uid-db', 'uid-web']);
  await runs(it, guaranteed('db', '3', '6Gi'));
  await world.host.clock.advance(60_000);
  assert.deepEqual(await assignedUids(world), ['uid-db']);
});

test('a pod that cannot get its resources from one NUMA node is rejected', async () => {
  const world = await newMachine();
  await using it = await start(world);
  await runs(it, guaranteed('wide', '5', '1Gi'));
  const [report] = it.agent.pods();
  const message = 'Resources cannot be allocated with Topology locality';
  assert.deepEqual(
    [report?.status.phase, report?.status.reason, report?.status.message],
    ['Failed', 'TopologyAffinityError', `Pod was rejected: ${message}`],
  );
  const events = report?.events.map(({ type, reason, message: text }) => `${type} ${reason} ${text}`);
  assert.deepEqual(events, [`Warning TopologyAffinityError ${message}`]);
  assert.equal(world.runtime.containers.size, 0);
  assert.deepEqual(await assignedUids(world), []);
});

test('a pod whose memory is assigned to others is rejected as kubelet does', async () => {
  await using it = await start(await newMachine(), { ...MANAGED, topologyManager: undefined });
  await runs(it, guaranteed('a', '1', '5Gi'), guaranteed('b', '1', '5Gi'), guaranteed('c', '1', '4Gi'));
  const [, , last] = it.agent.pods();
  const why = '[memorymanager] failed to get the default NUMA affinity, no NUMA nodes with enough memory is available';
  assert.deepEqual(
    [last?.status.reason, last?.status.message],
    ['UnexpectedAdmissionError', `Pod was rejected: Allocate failed due to ${why}, which is unexpected`],
  );
});

test('running pods keep their CPUs and memory across a kill of the agent', async () => {
  const world = await newMachine();
  const first = await start(world);
  const pods = [guaranteed('web', '2', '2Gi'), guaranteed('db', '3', '6Gi')];
  await runs(first, ...pods);
  const before = [...world.runtime.containers.keys()];
  const text = await world.host.fs.readText(STATE);
  await first.stop();
  await using second = await start(world);
  await runs(second, ...pods.toReversed());
  assert.deepEqual([...world.runtime.containers.keys()], before);
  assert.equal(await world.host.fs.readText(STATE), text);
  // A pod that no longer fits is rejected, and nothing else changes.
  await runs(second, ...pods, guaranteed('late', '2', '1Gi'));
  assert.deepEqual(
    second.agent.pods().map(({ pod, status }) => `${pod.metadata.name} ${status.phase}`),
    ['db Running', 'web Running', 'late Failed'],
  );
});

test('memory of pods that ended while no agent was running is free for the pods of the first snapshot', async () => {
  const world = await newMachine();
  const first = await start(world);
  await runs(first, guaranteed('web', '2', '6Gi'), guaranteed('db', '3', '7Gi'));
  await first.stop();
  const { runtime } = world.runtime.cri;
  for (const podSandboxId of world.runtime.sandboxes.keys()) {
    await runtime.stopPodSandbox({ podSandboxId }, FOREVER);
    await runtime.removePodSandbox({ podSandboxId }, FOREVER);
  }
  await using second = await start(world);
  await runs(second, guaranteed('new', '3', '7Gi'));
  assert.deepEqual(
    second.agent.pods().map(({ pod, status }) => `${pod.metadata.name} ${status.phase} ${status.message ?? ''}`),
    ['new Running '],
  );
});

test('a resize of what the managers assigned is infeasible', async () => {
  await using it = await start(await newMachine());
  await runs(it, guaranteed('web', '2', '2Gi'));
  for (const [resized, manager] of [
    [guaranteed('web', '1', '2Gi'), 'CPU Manager policy "static"'],
    [guaranteed('web', '2', '3Gi'), 'Memory Manager policy "Static"'],
  ] as const) {
    await runs(it, resized);
    const [report] = it.agent.pods();
    const condition = report?.status.conditions?.find(({ type }) => type === 'PodResizePending');
    assert.deepEqual(
      [condition?.reason, condition?.message],
      ['Infeasible', `Resize is infeasible for Guaranteed Pods alongside ${manager}`],
    );
  }
});

test('an agent does not start with the checkpoint of another policy or machine', async () => {
  const world = await newMachine();
  const first = await start(world);
  await first.stop();
  const none: Partial<AgentSettings> = { memoryManager: { policy: 'None', reserved: [] } };
  await assert.rejects(start(world, none), {
    message: `could not restore state from checkpoint: [memorymanager] configured policy "None" differs from state checkpoint policy "Static", please drain this node and delete the memory manager checkpoint file "${STATE}" before restarting Kubelet`,
  });
  const reserved = [{ numaNode: 1, limits: { memory: '1Gi' } }];
  await assert.rejects(start(world, { ...MANAGED, memoryManager: { policy: 'Static', reserved } }), {
    message: '[memorymanager] the expected machine state is different from the real one',
  });
});

test('the policy None writes its checkpoint once', async () => {
  const world = await newMachine();
  const none: Partial<AgentSettings> = { memoryManager: { policy: 'None', reserved: [] } };
  await using it = await start(world, none);
  await runs(it, guaranteed('web', '2', '2Gi'));
  assert.equal(await world.host.fs.readText(STATE), '{"policyName":"None","machineState":{},"checksum":4236770233}');
});

test('a running pod keeps its devices on a standalone node whose plugin is not back, whatever other pods request', async () => {
  const world = newWorld();
  const withDevices = (name: string): Pod => {
    const limits = { 'example.com/gpu': '2' };
    return podOf(name, { containers: [{ name: 'main', image: 'busybox:1', resources: { requests: limits, limits } }] });
  };
  const plugin = new FakeDevicePlugin();
  const first = await startAgent(world, {}, silentLog, [], {
    connectDevicePlugins(receiver) {
      receiver.connected(plugin);
      receiver.reported(plugin, devicesOf('gpu-0', 'gpu-1', 'gpu-2'));
    },
  });
  await runs(first, withDevices('old'), withDevices('other'));
  const phases = ({ agent }: MemoryAgent): readonly string[] =>
    agent.pods().map(({ pod, status }) => `${pod.metadata.name} ${status.phase} ${status.reason ?? ''}`);
  assert.deepEqual(phases(first), ['old Running ', 'other Failed OutOfexample.com/gpu']);
  await first.stop();
  await using second = await startAgent(world);
  await runs(second, withDevices('other'), withDevices('old'));
  assert.deepEqual(phases(second).toSorted(), ['old Running ', 'other Failed OutOfexample.com/gpu']);
});
