import type { Container, Pod } from '../../../src/api/generated/core-v1.ts';
import { silentLog } from '../../../src/base/log.ts';
import { MemoryFileSystem } from '../../../src/host/fake/memory-file-system.ts';
import { VirtualClock } from '../../../src/host/fake/virtual-clock.ts';
import { CpuManager, type CpuManagerDeps } from '../../../src/kubelet/cpu-manager/cpu-manager.ts';
import { machine } from '../../../src/kubelet/cpu-manager/machines.fixture.ts';
import { examplePod } from '../../../src/kubelet/sync/config/pod.fixture.ts';
import {
  AllocationError,
  type HintsByResource,
  type TopologyHint,
} from '../../../src/kubelet/topology/hint-provider.ts';
import type { PodSequence, PodToPlace } from './pod-sequences.ts';

const ROOT = '/var/lib/kubelet';
const FILE = `${ROOT}/cpu_manager_state`;
const ANY: TopologyHint = { affinity: undefined, preferred: false };

/**
 * What our CPU manager decides, in the notation of test/managers/cpu/main.go: the shared pool at the start; for each step the
 * hints (NUMA masks in hexadecimal, `p`: preferred) and CPUs of each container, or the shared pool after a release; the
 * checkpoint at the end.
 */
export async function placeSequence(sequence: PodSequence): Promise<readonly string[]> {
  const disk = new MemoryFileSystem(() => 0);
  const start = (): Promise<CpuManager> => CpuManager.create(depsOf(sequence, disk));
  let manager = await start();
  const results = [manager.affinity('', '').toString()];
  for (const step of sequence.steps) {
    switch (step.kind) {
      case 'restart':
        // kubelet does not start again then; we do.
        if (manager.affinity('', '').isEmpty) return [...results, '!default cpuset cannot be empty'];
        manager = await start();
        results.push('restarted');
        break;
      case 'release':
        await manager.release(step.uid);
        results.push(manager.affinity('', '').toString());
        break;
      case 'place':
        results.push(await place(manager, step, sequence.scope));
    }
  }
  return [...results, await disk.readText(FILE)];
}

export function depsOf(sequence: PodSequence, fs: MemoryFileSystem): CpuManagerDeps {
  return {
    settings: {
      policy: 'static',
      options: sequence.options,
      gates: { alphaOptions: true, betaOptions: true },
      reconcilePeriodMs: 10_000,
      reservedSystemCpus: sequence.reserved,
      reservedMilliCpus: BigInt(sequence.reservedCount) * 1000n,
      topologyManagerPolicy: 'none',
      disablesQuota: true,
    },
    topology: machine(sequence.machine),
    rootDir: ROOT,
    fs,
    clock: new VirtualClock(),
    log: silentLog,
    containers: { running: () => [], update: async () => undefined },
    listOwners: async () => new Map(),
  };
}

async function place(manager: CpuManager, step: PodToPlace, scope: PodSequence['scope']): Promise<string> {
  const pod = podOf(step);
  const parts: string[] = [];
  const ofPod = manager.podHints(pod);
  if (scope === 'pod') parts.push(hintText(ofPod));
  for (const container of containersOf(pod)) {
    const hints = scope === 'pod' ? ofPod : manager.containerHints(pod, container);
    const prefix = scope === 'pod' ? '' : `${hintText(hints)}=`;
    const error = await allocateError(manager, pod, container, choose(hints, step.pick));
    if (error !== undefined) {
      parts.push(`${prefix}!${error}`);
      await manager.release(step.uid);
      break;
    }
    const isShared = manager.cpus(step.uid, container.name).length === 0;
    parts.push(`${prefix}${isShared ? 'shared' : manager.affinity(step.uid, container.name)}`);
  }
  return parts.join(';');
}

async function allocateError(
  manager: CpuManager,
  pod: Pod,
  container: Container,
  hint: TopologyHint,
): Promise<string | undefined> {
  try {
    await manager.allocate(pod, container, hint);
    return undefined;
  } catch (error) {
    if (!(error instanceof AllocationError)) throw error;
    return /^Allocate failed due to (.*), which is unexpected$/.exec(error.message)?.[1] ?? error.message;
  }
}

function choose(hints: HintsByResource, pick: number): TopologyHint {
  const all = hints.get('cpu') ?? [];
  return (pick < 0 ? undefined : all[pick % all.length]) ?? ANY;
}

function hintText(hints: HintsByResource): string {
  const all = hints.get('cpu');
  if (all === undefined) return '-';
  return all.map(({ affinity = 0n, preferred }) => `${affinity.toString(16)}${preferred ? 'p' : ''}`).join(',');
}

export function containersOf({ spec }: Pod): readonly Container[] {
  return [...(spec.initContainers ?? []), ...spec.containers];
}

export function podOf({ uid, guaranteed, containers }: PodToPlace): Pod {
  const made = containers.map(({ name, kind, cpu }) => {
    const amounts = { cpu, memory: '1Gi' };
    const container: Container = {
      name,
      image: 'image',
      resources: { requests: amounts, ...(guaranteed && { limits: amounts }) },
      ...(kind === 'sidecar' && { restartPolicy: 'Always' as const }),
    };
    return { kind, container };
  });
  const pod = examplePod({ metadata: { uid, name: uid } });
  const [inits, apps] = [made.filter(({ kind }) => kind !== 'app'), made.filter(({ kind }) => kind === 'app')];
  const spec = {
    ...pod.spec,
    initContainers: inits.map(({ container }) => container),
    containers: apps.map(({ container }) => container),
  };
  return { ...pod, spec };
}
