import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { Container, Pod } from '../../api/generated/core-v1.ts';
import { createMemoryHost, type MemoryHost } from '../../host/fake/memory-host.ts';
import { PodRejectedError } from '../pod/pod-rejected-error.ts';
import { PodPlacement } from '../topology/pod-placement.ts';
import { TOPOLOGY_POLICIES, type TopologyPolicyName } from '../topology/topology-options.ts';
import { topologyPolicy } from '../topology/topology-policy.ts';
import { machineMemory } from './machine-memory.ts';
import { decodeMemory } from './memory-checkpoint.ts';
import { MemoryManager } from './memory-manager.ts';

const ROOT = '/var/lib/kubelet';
const FILE = `${ROOT}/memory_manager_state`;
const FOREVER = new AbortController().signal;
const MIB = 2 ** 20;
const ANY = { affinity: undefined, preferred: false };

function machineOf(nodes: number) {
  const numaNodes = Array.from({ length: nodes }, (_, id) => {
    return { id, memoryBytes: 1024 * MIB, hugePages: new Map([[2048, 32]]), distances: [] };
  });
  return { numaNodes, machine: machineMemory({ numaNodes }, new Map([[0, new Map([['memory', 100 * MIB]])]])) };
}

async function newHost(): Promise<MemoryHost> {
  const host = createMemoryHost();
  await host.fs.makeDirectory(ROOT, 0o755);
  return host;
}

function start({ fs }: MemoryHost, nodes = 2): Promise<MemoryManager> {
  return MemoryManager.start({ fs, rootDir: ROOT, machine: machineOf(nodes).machine });
}

function container(name: string, mebibytes: number, more: Partial<Container> & { huge?: number } = {}): Container {
  const { huge = 0, ...rest } = more;
  const requests = { cpu: '1', memory: `${mebibytes}Mi`, ...(huge > 0 && { 'hugepages-2Mi': `${huge}Mi` }) };
  return { name, resources: { requests, limits: requests }, ...rest };
}

function podOf(uid: string, containers: readonly Container[], initContainers: readonly Container[] = []): Pod {
  return {
    metadata: { uid, name: uid, namespace: 'default' },
    spec: { containers: [...containers], ...(initContainers.length > 0 && { initContainers: [...initContainers] }) },
  };
}

async function allocateAll(manager: MemoryManager, pod: Pod): Promise<void> {
  const { initContainers = [], containers } = pod.spec;
  for (const each of [...initContainers, ...containers]) await manager.allocate(pod, each, ANY);
}

test('runOptions() binds a container to its nodes, and memory() reports what it has', async () => {
  const manager = await start(await newHost());
  const wide = podOf('wide', [container('main', 1500, { huge: 4 })]);
  await allocateAll(manager, wide);
  assert.deepEqual(await manager.runOptions(wide, container('main', 1500)), { cpusetMems: '0,1' });
  assert.deepEqual(manager.memory('wide', 'main'), [
    { type: 'hugepages-2Mi', bytes: 4 * MIB, numaNodes: [0, 1] },
    { type: 'memory', bytes: 1500 * MIB, numaNodes: [0, 1] },
  ]);
  assert.deepEqual(await manager.runOptions(podOf('other', [{ name: 'main' }]), { name: 'main' }), {});
  assert.deepEqual(
    manager.allocatable().filter(({ type }) => type === 'memory'),
    [0, 1].map((id) => ({ type: 'memory', bytes: (id === 0 ? 860 : 960) * MIB, numaNodes: [id] })),
  );
});

test('pods that are not Guaranteed, or have pod-level resources, get no memory of their own', async () => {
  const host = await newHost();
  const manager = await start(host);
  const before = await host.fs.readText(FILE);
  const requests = { cpu: '1', memory: '1Gi' };
  const burstable = podOf('burstable', [{ name: 'main', resources: { requests } }]);
  const podLevel = podOf('pod', [container('main', 64)]);
  const whole = { ...podLevel, spec: { ...podLevel.spec, resources: { requests, limits: requests } } };
  for (const pod of [burstable, whole]) {
    assert.equal(manager.concerns(pod), false);
    assert.equal(manager.podHints(pod).size, 0);
    await allocateAll(manager, pod);
  }
  assert.equal(await host.fs.readText(FILE), before);
});

test('an init container that has ended gives back its memory, and gets none after a restart of the agent', async () => {
  const host = await newHost();
  const manager = await start(host, 1);
  const pod = podOf('job', [container('main', 100)], [container('init', 800)]);
  await allocateAll(manager, pod);
  assert.deepEqual(
    manager.memory('job', 'init').map(({ bytes }) => bytes),
    [700 * MIB],
  );
  await manager.runOptions(pod, container('main', 100));
  await allocateAll(manager, podOf('next', [container('main', 700)]));
  const again = await start(host, 1);
  await allocateAll(again, pod);
  assert.deepEqual(again.memory('job', 'init'), []);
  assert.deepEqual(
    again.memory('job', 'main').map(({ bytes }) => bytes),
    [100 * MIB],
  );
});

test('an amount that is not a whole number is rejected', async () => {
  const manager = await start(await newHost());
  const requests = { cpu: '1', memory: '1500m' };
  const pod = podOf('odd', [{ name: 'main', resources: { requests, limits: requests } }]);
  assert.equal(manager.podHints(pod).size, 0);
  await assert.rejects(allocateAll(manager, pod), { message: '[memorymanager] failed to represent quantity as int64' });
});

test('a failed write is retried by the next call', async () => {
  const host = await newHost();
  const manager = await start(host);
  const pod = podOf('a', [container('main', 64)]);
  host.fs.errors.failNext('writeAtomic', 'ENOSPC', FILE);
  await assert.rejects(allocateAll(manager, pod), { code: 'ENOSPC' });
  await allocateAll(manager, pod);
  assert.deepEqual([...decodeMemory(await host.fs.readText(FILE)).assignments.keys()], ['a']);
});

const sizes = fc.record({
  memory: fc.integer({ min: 1, max: 1400 }),
  huge: fc.constantFrom(0, 0, 2, 20, 60),
});
const operation = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant('add' as const),
      main: fc.array(sizes, { minLength: 1, maxLength: 2 }),
      init: fc.array(sizes, { maxLength: 2 }),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('remove' as const), at: fc.nat(5) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('start' as const), at: fc.nat(5) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('restart' as const) }) },
);

/** No node has more assigned than it has, and the file alone says what is assigned. */
async function checkFile({ fs }: MemoryHost, running: readonly Pod[]): Promise<void> {
  const { machine, assignments } = decodeMemory(await fs.readText(FILE));
  for (const { memoryMap } of machine.values()) {
    for (const { allocatable, reserved, free } of memoryMap.values()) {
      assert.ok(reserved >= 0 && free >= 0 && reserved + free === allocatable);
    }
  }
  const uids = running.map(({ metadata }) => metadata.uid);
  assert.deepEqual(new Set(assignments.keys()), new Set(uids));
  const total = [...assignments.values()].flatMap((containers) => [...containers.values()].flat());
  for (const type of ['memory', 'hugepages-2Mi']) {
    const reserved = [...machine.values()].reduce(
      (sum, { memoryMap }) => sum + (memoryMap.get(type)?.reserved ?? 0),
      0,
    );
    const assigned = total.reduce((sum, block) => sum + (block.type === type ? block.size : 0), 0);
    assert.equal(assigned, reserved);
  }
}

test('no node is over-assigned, assignments survive restarts, and all memory comes back', async () => {
  const policies = fc.constantFrom<TopologyPolicyName>(...TOPOLOGY_POLICIES);
  const scopes = fc.constantFrom('container' as const, 'pod' as const);
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(1, 2, 8),
      policies,
      scopes,
      fc.array(operation, { maxLength: 12 }),
      async (nodes, name, scope, operations) => {
        const host = await newHost();
        const policy = topologyPolicy({ policy: name, options: {} }, machineOf(nodes));
        let manager = await start(host, nodes);
        const empty = await host.fs.readText(FILE);
        let placement = new PodPlacement({ clock: { monotonic: () => 0 }, providers: [manager], policy, scope });
        const running: Pod[] = [];
        for (const [index, each] of operations.entries()) {
          const pod = 'at' in each ? running[each.at] : undefined;
          if (each.kind === 'add') {
            const of = (kind: string, all: typeof each.main): Container[] =>
              all.map(({ memory, huge }, at) => container(`${kind}${at}`, memory, { huge }));
            const added = podOf(`p${index}`, of('main', each.main), of('init', each.init));
            try {
              await placement.prepare(added, FOREVER);
              running.push(added);
            } catch (error) {
              assert.ok(error instanceof PodRejectedError, String(error));
              await placement.release(added, FOREVER);
            }
          } else if (each.kind === 'restart') {
            const before = await host.fs.readText(FILE);
            manager = await start(host, nodes);
            placement = new PodPlacement({ clock: { monotonic: () => 0 }, providers: [manager], policy, scope });
            for (const again of running) await placement.prepare(again, FOREVER);
            assert.equal(await host.fs.readText(FILE), before);
          } else if (pod && each.kind === 'start')
            await manager.runOptions(pod, pod.spec.containers[0] ?? { name: '' });
          else if (pod) {
            await placement.release(pod, FOREVER);
            running.splice(running.indexOf(pod), 1);
          }
          await checkFile(host, running);
        }
        for (const pod of running) await placement.release(pod, FOREVER);
        assert.equal(await host.fs.readText(FILE), empty);
      },
    ),
    { numRuns: 80 },
  );
});
