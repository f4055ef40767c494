import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Container, Pod, ResourceRequirements } from '../../api/generated/core-v1.ts';
import { silentLog } from '../../base/log.ts';
import { MemoryFileSystem } from '../../host/fake/memory-file-system.ts';
import { VirtualClock } from '../../host/fake/virtual-clock.ts';
import { examplePod } from '../sync/config/pod.fixture.ts';
import { AllocationError, type TopologyHint } from '../topology/hint-provider.ts';
import { numaMask } from '../topology/numa-mask.ts';
import { CpuManager, type CpuManagerDeps } from './cpu-manager.ts';
import type { CpuManagerSettings } from './cpu-manager-settings.ts';
import { type MachineName, machine } from './machines.fixture.ts';
import { CpuManagerError } from './policy-options.ts';

const ROOT = '/var/lib/kubelet';
const FILE = `${ROOT}/cpu_manager_state`;
const ANY: TopologyHint = { affinity: undefined, preferred: false };

const SETTINGS: CpuManagerSettings = {
  policy: 'static',
  options: {},
  gates: { alphaOptions: true, betaOptions: true },
  reconcilePeriodMs: 10_000,
  reservedSystemCpus: '',
  reservedMilliCpus: 500n,
  topologyManagerPolicy: 'none',
  disablesQuota: true,
};

interface World {
  readonly disk?: MemoryFileSystem;
  readonly settings?: Partial<CpuManagerSettings>;
  readonly on?: MachineName;
  readonly deps?: Partial<CpuManagerDeps>;
}

function start({ disk = new MemoryFileSystem(() => 0), settings, on = 'xeon-e-2288g', deps }: World = {}) {
  return CpuManager.create({
    settings: { ...SETTINGS, ...settings },
    topology: machine(on),
    rootDir: ROOT,
    fs: disk,
    clock: new VirtualClock(),
    log: silentLog,
    containers: { running: () => [], update: async () => undefined },
    listOwners: async () => new Map(),
    ...deps,
  });
}

function container(name: string, cpu: string, more: Partial<Container> = {}): Container {
  const amounts = { cpu, memory: '1Gi' };
  return { name, image: 'i', resources: { requests: amounts, limits: amounts }, ...more };
}

function podWith(uid: string, ...containers: readonly Container[]): Pod {
  return examplePod({ metadata: { uid }, spec: { containers: [...containers] } });
}

async function place(manager: CpuManager, pod: Pod, hint = ANY): Promise<Record<string, string>> {
  const all = [...(pod.spec.initContainers ?? []), ...pod.spec.containers];
  for (const each of all) await manager.allocate(pod, each, hint);
  return Object.fromEntries(all.map(({ name }) => [name, manager.cpus(pod.metadata.uid, name).join()]));
}

async function rejection(promise: Promise<unknown>): Promise<Error> {
  const error = await promise.then(
    () => assert.fail('it did not fail'),
    (reason) => reason,
  );
  assert.ok(error instanceof Error);
  return error;
}

async function diskWith(text: string): Promise<MemoryFileSystem> {
  const disk = new MemoryFileSystem(() => 0);
  await disk.makeDirectory(ROOT);
  await disk.writeFile(FILE, text);
  return disk;
}

test('the none policy assigns nothing, and writes the file of kubelet', async () => {
  const disk = new MemoryFileSystem(() => 0);
  const manager = await start({ disk, settings: { policy: 'none' } });
  const pod = podWith('u1', container('a', '2'));
  assert.equal(await disk.readText(FILE), '{"policyName":"none","defaultCpuSet":"","checksum":1353318690}');
  assert.equal(manager.concerns(pod), false);
  assert.deepEqual(await place(manager, pod), { a: '' });
  assert.deepEqual(manager.runOptions(pod, container('a', '2')), {});
  assert.deepEqual([...manager.containerHints(pod, container('a', '2')), ...manager.podHints(pod)], []);
  assert.deepEqual(manager.allocatableCpus, []);
});

test('a Guaranteed container with whole CPUs gets them exclusively, and others the rest', async () => {
  const manager = await start();
  const [own, fraction] = [container('own', '2'), container('fraction', '1500m')];
  const pod = podWith('u1', own, fraction);
  assert.equal(manager.concerns(pod), true);
  assert.deepEqual(await place(manager, pod), { own: '1,9', fraction: '' });
  assert.deepEqual(manager.runOptions(pod, own), { cpusetCpus: '1,9', hasExclusiveCpus: true });
  assert.deepEqual(manager.runOptions(pod, fraction), { cpusetCpus: '0,2-8,10-15', hasExclusiveCpus: false });
  assert.deepEqual(manager.allocatableCpus, [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15]);
});

test('the quota stays on while its feature gate is off', async () => {
  const manager = await start({ settings: { disablesQuota: false } });
  const pod = podWith('u1', container('own', '2'));
  await place(manager, pod);
  assert.deepEqual(manager.runOptions(pod, container('own', '2')), { cpusetCpus: '1,9', hasExclusiveCpus: false });
});

const withoutCpus: Record<string, { resources: ResourceRequirements; ofPod?: ResourceRequirements }> = {
  'a burstable pod': { resources: { requests: { cpu: '2', memory: '1Gi' }, limits: { cpu: '2', memory: '2Gi' } } },
  'a pod without requests': { resources: {} },
  'a pod with resources of its own': {
    resources: { requests: { cpu: '2', memory: '1Gi' }, limits: { cpu: '2', memory: '1Gi' } },
    ofPod: { requests: { cpu: '2', memory: '1Gi' }, limits: { cpu: '2', memory: '1Gi' } },
  },
};

for (const [name, { resources, ofPod }] of Object.entries(withoutCpus)) {
  test(`${name} runs on the shared pool`, async () => {
    const manager = await start();
    const pod = podWith('u1', { name: 'a', image: 'i', resources });
    const changed = ofPod ? { ...pod, spec: { ...pod.spec, resources: ofPod } } : pod;
    assert.equal(manager.concerns(changed), false);
    assert.deepEqual(await place(manager, changed), { a: '' });
    assert.deepEqual([...manager.containerHints(changed, { name: 'a', image: 'i', resources })], []);
  });
}

test('containers use the CPUs of init containers again, but not those of restartable ones', async () => {
  const manager = await start();
  const pod = podWith('u1', container('app', '4'));
  const initContainers = [container('init', '6'), container('sidecar', '2', { restartPolicy: 'Always' })];
  const cpus = await place(manager, { ...pod, spec: { ...pod.spec, initContainers } });
  assert.deepEqual(cpus, { init: '1,2,3,9,10,11', sidecar: '1,9', app: '2,3,10,11' });
  await manager.release('u1');
  assert.equal(manager.affinity('', '').toString(), '0-15');
});

test('hints lead to CPUs of their NUMA nodes', async () => {
  const manager = await start({ on: 'xeon-4214-2s' });
  const pod = podWith('u1', container('a', '4'));
  assert.deepEqual(manager.containerHints(pod, container('a', '4')).get('cpu'), [
    { affinity: 1n, preferred: true },
    { affinity: 2n, preferred: true },
    { affinity: 3n, preferred: false },
  ]);
  assert.deepEqual(await place(manager, pod, { affinity: numaMask([1]), preferred: true }), { a: '1,3,25,27' });
  assert.deepEqual(manager.podHints(pod).get('cpu'), [
    { affinity: 2n, preferred: true },
    { affinity: 3n, preferred: false },
  ]);
});

test('a container keeps its CPUs in the next process, also if no other whole cores are free', async () => {
  const disk = new MemoryFileSystem(() => 0);
  const world = { disk, settings: { options: { 'full-pcpus-only': 'true' } } };
  const pod = podWith('u1', container('a', '14'));
  const before = await place(await start(world), pod);
  const next = await start(world);
  assert.deepEqual(await place(next, pod), before);
  assert.deepEqual(next.assignedUids(), ['u1']);
});

test('all CPUs but the strictly reserved ones may be assigned when the next process starts', async () => {
  const disk = new MemoryFileSystem(() => 0);
  const world = { disk, settings: { options: { 'strict-cpu-reservation': 'true' } } };
  const pod = podWith('u1', container('a', '15'));
  const before = await place(await start(world), pod);
  const next = await start(world);
  assert.deepEqual(await place(next, pod), before);
  assert.deepEqual(next.runOptions(podWith('u2'), container('b', '1')), {});
});

test('CPUs that a previous process assigned are released', async () => {
  const disk = new MemoryFileSystem(() => 0);
  const manager = await start({ disk });
  for (const uid of ['u1', 'u2', 'u3']) await place(manager, podWith(uid, container('a', '2')));
  const next = await start({ disk });
  for (const uid of ['u1', 'u3']) await next.release(uid);
  assert.deepEqual(next.assignedUids(), ['u2']);
  assert.deepEqual((await start({ disk })).assignedUids(), ['u2']);
});

const rejections: Record<string, { options?: Record<string, string>; cpu: string; reason: string; message: string }> = {
  'more CPUs than are free': {
    cpu: '16',
    reason: 'UnexpectedAdmissionError',
    message:
      'Allocate failed due to not enough cpus available to satisfy request: requested=16, available=15, which is unexpected',
  },
  'a part of a core': {
    options: { 'full-pcpus-only': 'true' },
    cpu: '3',
    reason: 'SMTAlignmentError',
    message: 'SMT Alignment Error: requested 3 cpus not multiple cpus per core = 2',
  },
  'more whole cores than are free': {
    options: { 'full-pcpus-only': 'true' },
    cpu: '16',
    reason: 'SMTAlignmentError',
    message:
      'SMT Alignment Error: not enough free physical CPUs: available physical CPUs = 14, requested CPUs = 16, CPUs per core = 2',
  },
};

for (const [name, { options = {}, cpu, reason, message }] of Object.entries(rejections)) {
  test(`allocate() rejects a container that requests ${name}`, async () => {
    const manager = await start({ settings: { options } });
    const error = await rejection(place(manager, podWith('u1', container('a', cpu))));
    assert.ok(error instanceof AllocationError);
    assert.deepEqual([error.reason, error.message], [reason, message]);
    assert.deepEqual(manager.assignedUids(), []);
  });
}

test('an assignment that cannot be written is not made', async () => {
  const disk = new MemoryFileSystem(() => 0);
  const manager = await start({ disk });
  const pod = podWith('u1', container('a', '2'));
  disk.isFull = true;
  assert.match((await rejection(place(manager, pod))).message, /no space left on device/);
  assert.deepEqual([manager.assignedUids(), manager.affinity('', '').size], [[], 16]);
  disk.isFull = false;
  assert.deepEqual(await place(manager, pod), { a: '1,9' });
  disk.isFull = true;
  await rejection(manager.release('u1'));
  assert.deepEqual(manager.cpus('u1', 'a'), [1, 9]);
  disk.isFull = false;
  await manager.release('u1');
  assert.deepEqual((await start({ disk })).assignedUids(), []);
});

test('a running container of the shared pool loses the CPUs that another one gets, and has them back afterwards', async () => {
  const clock = new VirtualClock();
  const calls: string[] = [];
  const update = async (id: string, cpus: string): Promise<void> => void calls.push(`${id}=${cpus}`);
  const running = [{ uid: 'u0', name: 'shared', id: 'c0' }];
  const manager = await start({ deps: { clock, containers: { running: () => running, update } } });
  manager.runOptions(podWith('u0'), { name: 'shared', image: 'i' });
  const stop = new AbortController();
  const ended = manager.run(stop.signal);
  await clock.advance(0);
  await place(manager, podWith('u1', container('own', '2')));
  await clock.advance(0);
  await manager.release('u1');
  await clock.advance(0);
  assert.deepEqual(calls, ['c0=0,2-8,10-15', 'c0=0-15']);
  stop.abort();
  await ended;
});

const FILE_TEXT = '{"policyName":"static","defaultCpuSet":"SHARED","entries":{"u1":{"a":"1,9"}}}';
const drained = `please drain this node and delete the CPU manager checkpoint file "${FILE}" before restarting Kubelet`;

const refused: Record<
  string,
  { settings?: Partial<CpuManagerSettings>; file?: string; on?: MachineName; message: string }
> = {
  'no reserved CPUs': {
    settings: { reservedMilliCpus: 0n },
    message: '[cpumanager] unable to determine reserved CPU resources for static policy',
  },
  'more reserved CPUs than the machine has': {
    settings: { reservedMilliCpus: 17_000n },
    message:
      'new static policy error: [cpumanager] unable to reserve the required amount of CPUs (size of  did not equal 17)',
  },
  'reserved CPUs that are not online': {
    settings: { reservedSystemCpus: '0,99' },
    message: 'reserved-cpus: 0,99 is not a subset of online-cpus: 0-15',
  },
  'an unknown option': {
    settings: { options: { x: 'true' } },
    message: 'new static policy error: unknown CPU Manager Policy option: "x"',
  },
  'alignment by sockets with single-numa-node': {
    settings: { options: { 'align-by-socket': 'true' }, topologyManagerPolicy: 'single-numa-node' },
    message:
      'new static policy error: Topolgy manager single-numa-node policy is incompatible with CPUManager align-by-socket policy option',
  },
  'alignment by sockets with fewer NUMA nodes': {
    settings: { options: { 'align-by-socket': 'true' } },
    on: 'xeon-2s-numa-off',
    message:
      'new static policy error: Align by socket is not compatible with hardware where number of sockets are more than number of NUMA',
  },
  'the file of another policy': {
    file: '{"policyName":"none","defaultCpuSet":"","checksum":1353318690}',
    message: `could not restore state from checkpoint: configured policy "static" differs from state checkpoint policy "none", ${drained}`,
  },
  'a truncated file': {
    file: '{"policyName":"static","defaultCpuSet":"0-',
    message: `could not restore state from checkpoint: unexpected end of JSON input, ${drained}`,
  },
  'assignments without a shared pool': {
    file: FILE_TEXT.replace('SHARED', ''),
    message: 'default cpuset cannot be empty',
  },
  'reserved CPUs that have been assigned': {
    file: FILE_TEXT.replace('SHARED', '2-8,10-15'),
    message: 'not all reserved cpus: "0" are present in defaultCpuSet: "2-8,10-15"',
  },
  'strictly reserved CPUs in the shared pool': {
    settings: { options: { 'strict-cpu-reservation': 'true' } },
    file: FILE_TEXT.replace('SHARED', '0,2-8,10-15'),
    message: 'some of strictly reserved cpus: "0" are present in defaultCpuSet: "0,2-8,10-15"',
  },
  'a CPU in the shared pool and of a container': {
    file: FILE_TEXT.replace('SHARED', '0-8,10-15'),
    message: 'pod: u1, container: a cpuset: "1,9" overlaps with default cpuset "0-8,10-15"',
  },
  'a CPU that went offline': {
    file: FILE_TEXT.replace('SHARED', '0,2-8,10-16'),
    message: 'current set of available CPUs "0-15" doesn\'t match with CPUs in state "0-16"',
  },
};

for (const [name, { settings, file, on, message }] of Object.entries(refused)) {
  test(`create() refuses ${name} in the words of kubelet`, async () => {
    const disk = file === undefined ? new MemoryFileSystem(() => 0) : await diskWith(file);
    const error = await rejection(start({ disk, ...(settings && { settings }), ...(on && { on }) }));
    assert.ok(error instanceof CpuManagerError);
    assert.equal(error.message, message);
    if (file !== undefined) assert.equal(await disk.readText(FILE), file);
  });
}

test('the file of kubelet 1.17 is read with the containers of the runtime, and written anew', async () => {
  const disk = await diskWith('{"policyName":"static","defaultCpuSet":"0,2-8,10-15","entries":{"c1":"1,9"}}');
  const owners = new Map([['c1', { uid: 'u1', container: 'a' }]]);
  const manager = await start({ disk, deps: { listOwners: async () => owners } });
  assert.deepEqual(manager.cpus('u1', 'a'), [1, 9]);
  assert.match(await disk.readText(FILE), /"entries":\{"u1":\{"a":"1,9"\}\},"checksum":[1-9]/);
});
