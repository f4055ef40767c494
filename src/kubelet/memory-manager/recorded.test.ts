/** What kubelet's own memory and topology managers decided about random pods: see test/managers/memory. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Container, Pod } from '../../api/generated/core-v1.ts';
import { fnv1a32 } from '../../base/go/fnv.ts';
import { parseQuantity } from '../../base/quantity.ts';
import { createMemoryHost, type MemoryHost } from '../../host/fake/memory-host.ts';
import { PodRejectedError } from '../pod/pod-rejected-error.ts';
import type { HintsByResource, TopologyHint } from '../topology/hint-provider.ts';
import type { NumaNode } from '../topology/machine-topology.ts';
import { numaMask, numaNodesOf } from '../topology/numa-mask.ts';
import { PodPlacement } from '../topology/pod-placement.ts';
import type { TopologySettings } from '../topology/topology-options.ts';
import { topologyPolicy } from '../topology/topology-policy.ts';
import { machineMemory } from './machine-memory.ts';
import { decodeMemory, encodeMemory } from './memory-checkpoint.ts';
import { MemoryManager } from './memory-manager.ts';
import type { MemoryState } from './memory-state.ts';
import { reservedBytes } from './reserved-memory.ts';

const ROOT = '/var/lib/kubelet';
const FOREVER = new AbortController().signal;

interface RecordedNode {
  readonly id: number;
  readonly memory: number;
  readonly hugePages: number;
  readonly distances?: readonly number[];
  readonly reserved: number;
}

interface RecordedPod {
  readonly uid: string;
  readonly init?: readonly string[];
  readonly containers: readonly string[];
  readonly burstable?: boolean;
}

interface RecordedStep {
  readonly add?: RecordedPod;
  readonly start?: readonly [uid: string, container: string];
  readonly remove?: string;
  readonly restart?: boolean;
  readonly reason?: string;
  readonly message?: string;
  readonly nodes?: Readonly<Record<string, readonly number[]>>;
  readonly state: string;
}

interface RecordedWorld extends Omit<TopologySettings, 'options'> {
  readonly nodes: readonly RecordedNode[];
  readonly options?: Readonly<Record<string, string>>;
  readonly steps: readonly RecordedStep[];
  readonly fileText?: string;
}

interface RecordedMerge {
  readonly nodes: number;
  readonly distances?: readonly (readonly number[])[];
  readonly policy: TopologySettings['policy'];
  readonly closest?: boolean;
  readonly providers: readonly Readonly<Record<string, readonly string[] | null>>[];
  readonly hint: string;
  readonly admit: boolean;
}

interface Recorded {
  readonly worlds: readonly RecordedWorld[];
  readonly merges: readonly RecordedMerge[];
}

const file = '../../../test/data/managers/golden/memory.json';
const { default: recorded }: { readonly default: Recorded } = await import(file, { with: { type: 'json' } });
const { worlds, merges } = recorded;

test(`MemoryManager assigns memory as kubelet did to the pods of ${worlds.length} machines`, async (t) => {
  assert.ok(worlds.length >= 100);
  for (const [index, world] of worlds.entries()) {
    await t.test(`${index}: ${world.nodes.length} nodes, ${world.policy}, ${world.scope}`, () => replay(world));
  }
});

test(`the topology policies merge ${merges.length} sets of hints as kubelet did`, () => {
  assert.ok(merges.length >= 300);
  for (const { nodes, distances = [], policy, closest, providers, hint, admit } of merges) {
    const numaNodes = Array.from({ length: nodes }, (_, id) => numaNode({ id, distances: distances[id] ?? [] }));
    const options: Record<string, string> = closest ? { 'prefer-closest-numa-nodes': 'true' } : {};
    const merged = topologyPolicy({ policy, options }, { numaNodes }).merge(providers.map(hintsOf));
    assert.deepEqual([hintText(merged.hint), merged.isAdmitted], [hint, admit], JSON.stringify(providers));
  }
});

test('decodeMemory() and encodeMemory() keep the files of kubelet', () => {
  const texts = worlds.flatMap(({ fileText }) => fileText ?? []);
  assert.ok(texts.length > 0);
  for (const text of texts) assert.equal(encodeMemory(decodeMemory(text)), text);
});

async function replay(world: RecordedWorld): Promise<void> {
  const host = createMemoryHost();
  await host.fs.makeDirectory(ROOT, 0o755);
  let running = await startManagers(world, host);
  const pods = new Map<string, Pod>();
  for (const [at, step] of world.steps.entries()) {
    const { add, start, remove, restart } = step;
    let found: Outcome = {};
    if (add) found = await addPod(podOf(add), running, pods);
    else if (start) await startContainer(pods.get(start[0]), start[1], running.manager);
    else if (remove !== undefined) await removePod(remove, running, pods);
    else if (restart) {
      running = await startManagers(world, host);
      found = await placeAgain(running, pods);
    }
    const { reason, message, nodes } = step;
    const state = decodeMemory(await host.fs.readText(`${ROOT}/memory_manager_state`));
    const hash = fnv1a32(canonical(state)).toString(16).padStart(8, '0');
    assert.deepEqual({ at, ...found, state: hash }, { at, ...defined({ reason, message, nodes }), state: step.state });
  }
}

interface Outcome {
  readonly reason?: string;
  readonly message?: string;
  readonly nodes?: Readonly<Record<string, readonly number[]>>;
}

interface Running {
  readonly manager: MemoryManager;
  readonly placement: PodPlacement;
}

async function startManagers(
  { nodes, policy, scope, options = {} }: RecordedWorld,
  host: MemoryHost,
): Promise<Running> {
  const numaNodes = nodes.map(numaNode);
  const total = nodes.reduce((sum, { reserved }) => sum + reserved, 0);
  const reservations = nodes.flatMap(({ id, reserved }) =>
    reserved === 0 ? [] : [{ numaNode: id, limits: { memory: String(reserved) } }],
  );
  const reserved = reservedBytes(reservations, new Map([['memory', parseQuantity(total)]]), { numaNodes });
  const machine = machineMemory({ numaNodes }, reserved);
  const manager = await MemoryManager.start({ fs: host.fs, rootDir: ROOT, machine });
  const merging = topologyPolicy({ policy, options }, { numaNodes });
  return {
    manager,
    placement: new PodPlacement({ clock: { monotonic: () => 0 }, providers: [manager], policy: merging, scope }),
  };
}

async function addPod(pod: Pod, running: Running, pods: Map<string, Pod>): Promise<Outcome> {
  const { uid } = pod.metadata;
  try {
    await running.placement.prepare(pod, FOREVER);
  } catch (error) {
    assert.ok(error instanceof PodRejectedError, String(error));
    await running.placement.release(pod, FOREVER);
    return { reason: error.reason, message: error.message };
  }
  pods.set(uid, pod);
  const { initContainers = [], containers } = pod.spec;
  const nodes = [...initContainers, ...containers].map(({ name }) => {
    const all = running.manager.memory(uid, name).flatMap(({ numaNodes }) => numaNodes);
    return [name, [...new Set(all)].sort((one, other) => one - other)] as const;
  });
  const assigned = nodes.filter(([, ids]) => ids.length > 0);
  return assigned.length > 0 ? { nodes: Object.fromEntries(assigned) } : {};
}

async function startContainer(pod: Pod | undefined, name: string, manager: MemoryManager): Promise<void> {
  assert.ok(pod);
  await manager.runOptions(pod, { name });
}

async function removePod(uid: string, running: Running, pods: Map<string, Pod>): Promise<void> {
  const pod = pods.get(uid);
  assert.ok(pod);
  await running.placement.release(pod, FOREVER);
  pods.delete(uid);
}

async function placeAgain(running: Running, pods: Map<string, Pod>): Promise<Outcome> {
  for (const [uid, pod] of [...pods]) {
    const { reason, message } = await addPod(pod, running, pods);
    if (reason === undefined) continue;
    pods.delete(uid);
    return { reason, message: `${uid}: ${message}` };
  }
  return {};
}

function defined(outcome: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(outcome).filter(([, value]) => value !== undefined));
}

function numaNode({ id, memory = 0, hugePages = 0, distances = [] }: Partial<RecordedNode> & { id: number }): NumaNode {
  return { id, memoryBytes: memory, hugePages: new Map([[2048, hugePages]]), distances };
}

function podOf({ uid, init = [], containers, burstable = false }: RecordedPod): Pod {
  const spec = {
    ...(init.length > 0 && { initContainers: init.map((each) => containerOf(each, burstable)) }),
    containers: containers.map((each) => containerOf(each, burstable)),
  };
  return { metadata: { uid, name: uid, namespace: 'default' }, spec };
}

function containerOf(text: string, burstable: boolean): Container {
  const [name = '', memory = '', huge = '0', sidecar] = text.split(':');
  const requests = { cpu: '1', memory, ...(huge !== '0' && { 'hugepages-2Mi': huge }) };
  return {
    name,
    resources: burstable ? { requests } : { requests, limits: requests },
    ...(sidecar && { restartPolicy: 'Always' }),
  };
}

/** The same text as the program's: the order of a container's blocks does not matter. */
function canonical({ machine, assignments }: MemoryState): string {
  const nodes = [...machine]
    .sort(([one], [other]) => one - other)
    .map(([id, { numberOfAssignments, cells, memoryMap }]) => {
      const tables = [...memoryMap]
        .sort(([one], [other]) => (one < other ? -1 : 1))
        .map(([type, { total, systemReserved, allocatable, reserved, free }]) =>
          [type, [total, systemReserved, allocatable, reserved, free].join(',')].join(':'),
        );
      return `${[id, numberOfAssignments, `[${cells.join(' ')}]`, ...tables].join(' ')}\n`;
    });
  const blocks = [...assignments].flatMap(([uid, containers]) =>
    [...containers].flatMap(([name, all]) =>
      all.map(({ numaAffinity, type, size }) => `${uid}/${name} [${numaAffinity.join(' ')}] ${type} ${size}\n`),
    ),
  );
  return [...nodes, ...blocks.sort()].join('');
}

function hintsOf(resources: Readonly<Record<string, readonly string[] | null>>): HintsByResource {
  return new Map(Object.entries(resources).map(([name, hints]) => [name, hints?.map(hintOf)]));
}

function hintOf(text: string): TopologyHint {
  const nodes = text.replace('+', '');
  return {
    affinity: nodes === '*' ? undefined : numaMask(nodes.split(',').map(Number)),
    preferred: text.endsWith('+'),
  };
}

function hintText({ affinity, preferred }: TopologyHint): string {
  return `${affinity === undefined ? '*' : numaNodesOf(affinity).join(',')}${preferred ? '+' : ''}`;
}
