import assert from 'node:assert/strict';
import { test } from 'node:test';
import { containersOf, depsOf, podOf } from '../../../test/managers/cpu/place-sequence.ts';
import { drawSequence, type PodToPlace } from '../../../test/managers/cpu/pod-sequences.ts';
import type { Pod } from '../../api/generated/core-v1.ts';
import { CpuSet } from '../../base/cpu-set.ts';
import { MemoryFileSystem } from '../../host/fake/memory-file-system.ts';
import { AllocationError } from '../topology/hint-provider.ts';
import { CpuManager, type CpuManagerDeps } from './cpu-manager.ts';
import { HYBRID_MACHINE } from './machines.fixture.ts';
import { exclusiveCpus, runsToCompletion } from './requested-cpus.ts';

interface Case {
  readonly name: string;
  readonly seeds: number;
  readonly change: (deps: CpuManagerDeps) => CpuManagerDeps;
}

const cases: readonly Case[] = [
  { name: 'on machines with equal cores', seeds: 80, change: (deps) => deps },
  {
    name: 'on a machine with two kinds of cores',
    seeds: 60,
    change: (deps) => ({
      ...deps,
      topology: HYBRID_MACHINE,
      settings: { ...deps.settings, reservedSystemCpus: '', reservedMilliCpus: 1000n },
    }),
  },
];

for (const { name, seeds, change } of cases) {
  test(`no CPU has two owners, and none is lost, ${name}`, async () => {
    for (let seed = 1; seed <= seeds; seed++) await checkSequence(seed, change);
  });
}

async function checkSequence(seed: number, change: Case['change']): Promise<void> {
  const sequence = drawSequence(seed);
  const deps = change(depsOf(sequence, new MemoryFileSystem(() => 0)));
  const pods = new Map<string, Pod>();
  let manager = await CpuManager.create(deps);
  for (const step of sequence.steps) {
    if (step.kind === 'release') {
      await manager.release(step.uid);
      pods.delete(step.uid);
    } else if (step.kind === 'place') {
      if (await place(manager, step)) pods.set(step.uid, podOf(step));
    }
    check(manager, pods, deps, seed);
    const before = snapshot(manager, pods);
    manager = await CpuManager.create(deps);
    assert.deepEqual(snapshot(manager, pods), before, `seed ${seed}: the assignments survive`);
  }
  for (const uid of pods.keys()) await manager.release(uid);
  check(manager, new Map(), deps, seed);
}

/** Returns whether the pod got its CPUs. */
async function place(manager: CpuManager, step: PodToPlace): Promise<boolean> {
  const pod = podOf(step);
  try {
    for (const container of containersOf(pod)) {
      const hints = manager.containerHints(pod, container).get('cpu') ?? [];
      const hint = hints[step.pick] ?? { affinity: undefined, preferred: false };
      await manager.allocate(pod, container, hint);
    }
    return true;
  } catch (error) {
    assert.ok(error instanceof AllocationError);
    await manager.release(step.uid);
    return false;
  }
}

function check(manager: CpuManager, pods: ReadonlyMap<string, Pod>, deps: CpuManagerDeps, seed: number): void {
  const isStrict = deps.settings.options['strict-cpu-reservation'] === 'true';
  const shared = manager.affinity('', '');
  const owners = new Map<number, string>(shared.list.map((cpu) => [cpu, 'shared']));
  const takeAll = (owner: string, cpus: readonly number[]): void => {
    for (const cpu of cpus) {
      assert.equal(owners.get(cpu) ?? owner, owner, `seed ${seed}: CPU ${cpu}`);
      assert.ok(manager.allocatableCpus.includes(cpu), `seed ${seed}: CPU ${cpu} is reserved`);
      owners.set(cpu, owner);
    }
  };
  for (const [uid, pod] of pods) {
    for (const container of containersOf(pod)) {
      const cpus = manager.cpus(uid, container.name);
      assert.equal(cpus.length, exclusiveCpus(pod, container), `seed ${seed}: ${uid} ${container.name}`);
      takeAll(uid, cpus);
    }
    const together = containersOf(pod).filter((container) => !runsToCompletion(pod, container));
    const lists = together.map(({ name }) => manager.cpus(uid, name));
    assert.equal(new CpuSet(lists.flat()).size, lists.flat().length, `seed ${seed}: containers of ${uid} share CPUs`);
  }
  const expected = isStrict ? manager.allocatableCpus : [...deps.topology.cpus.keys()];
  assert.deepEqual(new CpuSet(owners.keys()).list, new CpuSet(expected).list, `seed ${seed}: all CPUs have an owner`);
}

function snapshot(manager: CpuManager, pods: ReadonlyMap<string, Pod>): unknown {
  const ofPods = [...pods].map(([uid, pod]) => containersOf(pod).map(({ name }) => manager.cpus(uid, name)));
  return [manager.affinity('', '').toString(), manager.assignedUids().length, ofPods];
}
