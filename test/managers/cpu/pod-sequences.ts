import { createHash } from 'node:crypto';
import { SeededRandom } from '../../../src/host/fake/seeded-random.ts';
import { CpuTopology } from '../../../src/kubelet/cpu-manager/cpu-details.ts';
import { MACHINES, type MachineName, machine } from '../../../src/kubelet/cpu-manager/machines.fixture.ts';

/** Pods that come and go on one machine, as both kubelet's CPU manager and ours are asked to place them. */
export interface PodSequence {
  readonly machine: MachineName;
  readonly options: Readonly<Record<string, string>>;
  /** A list of CPUs; empty: `reservedCount` of them are chosen. */
  readonly reserved: string;
  readonly reservedCount: number;
  readonly scope: 'container' | 'pod';
  readonly steps: readonly SequenceStep[];
}

export type SequenceStep =
  | (PodToPlace & { readonly kind: 'place' })
  | { readonly kind: 'release'; readonly uid: string }
  | { readonly kind: 'restart' };

export interface PodToPlace {
  readonly uid: string;
  readonly guaranteed: boolean;
  /** Which of the hints is chosen, modulo their number; negative: none. */
  readonly pick: number;
  readonly containers: readonly {
    readonly name: string;
    readonly kind: 'init' | 'sidecar' | 'app';
    readonly cpu: string;
  }[];
}

const OPTIONS = {
  full: 'full-pcpus-only',
  numa: 'distribute-cpus-across-numa',
  socket: 'align-by-socket',
  cores: 'distribute-cpus-across-cores',
  strict: 'strict-cpu-reservation',
  cache: 'prefer-align-cpus-by-uncorecache',
} as const;

/** All combinations of placement options that kubelet allows; each also with `strict`. */
const COMBINATIONS: readonly (readonly (keyof typeof OPTIONS)[])[] = [
  [],
  ['full'],
  ['numa'],
  ['full', 'numa'],
  ['cores'],
  ['cache'],
  ['full', 'cache'],
  ['socket'],
  ['full', 'socket'],
  ['numa', 'socket'],
  ['full', 'numa', 'socket'],
  ['cores', 'socket'],
  ['cache', 'socket'],
];

/** The same sequence for the same seed. */
export function drawSequence(seed: number): PodSequence {
  const random = new SeededRandom(seed * 7919);
  const below = (limit: number): number => Math.floor(random.fraction() * limit);
  const name = random.pick([...MACHINES.keys()]) ?? 'vm-4';
  const topology = new CpuTopology(machine(name).cpus);
  const isSocketOuter = topology.socketCount <= topology.numaNodes.size;
  const allowed = COMBINATIONS.filter((names) => isSocketOuter || !names.includes('socket'));
  const drawn = [...(random.pick(allowed) ?? []), ...(below(4) === 0 ? (['strict'] as const) : [])];
  const isFull = drawn.includes('full');
  const unit = isFull ? topology.cpusPerCore : 1;
  const reservedCount = unit * (1 + below(3));
  const reserved =
    below(2) === 0 ? '' : firstCores(topology, Math.ceil(reservedCount / topology.cpusPerCore), reservedCount);
  return {
    machine: name,
    options: Object.fromEntries(drawn.map((option) => [OPTIONS[option], 'true'])),
    reserved,
    reservedCount,
    scope: below(3) === 0 ? 'pod' : 'container',
    steps: drawSteps(random, topology, isFull),
  };
}

function firstCores({ details }: CpuTopology, cores: number, count: number): string {
  const chosen = details.ids('coreId').list.slice(0, cores);
  return details.cpusIn('coreId', chosen).list.slice(0, count).join(',');
}

function drawSteps(random: SeededRandom, topology: CpuTopology, isFull: boolean): readonly SequenceStep[] {
  const below = (limit: number): number => Math.floor(random.fraction() * limit);
  const placed: PodToPlace[] = [];
  const steps: SequenceStep[] = [];
  const count = 4 + below(10);
  for (let index = 0; index < count; index++) {
    const chance = below(10);
    const pod = random.pick(placed);
    if (chance < 2 && pod) {
      placed.splice(placed.indexOf(pod), 1);
      steps.push({ kind: 'release', uid: pod.uid });
    } else if (chance === 2 && !isFull) {
      // kubelet fails to place pods again that have whole cores already, if not as many are free.
      steps.push({ kind: 'restart' }, ...placed.map((each) => ({ kind: 'place' as const, ...each })));
    } else {
      const next = drawPod(random, `pod-${index}`, topology, isFull);
      placed.push(next);
      steps.push({ kind: 'place', ...next });
    }
  }
  return steps;
}

function drawPod(random: SeededRandom, uid: string, topology: CpuTopology, isFull: boolean): PodToPlace {
  const below = (limit: number): number => Math.floor(random.fraction() * limit);
  const largest = Math.max(2, Math.floor(topology.allCpus.size / (1 + below(8))));
  const cpu = (): string => {
    if (below(10) === 0) return '1500m';
    const size = 1 + below(Math.min(largest, below(3) === 0 ? largest : 8));
    return String(isFull && below(8) > 0 ? Math.ceil(size / topology.cpusPerCore) * topology.cpusPerCore : size);
  };
  const inits = below(3) === 0 ? 1 + below(2) : 0;
  const apps = 1 + below(3);
  const containers = [
    ...Array.from({ length: inits }, (_, index) => {
      return { name: `init-${index}`, kind: below(3) === 0 ? ('sidecar' as const) : ('init' as const), cpu: cpu() };
    }),
    ...Array.from({ length: apps }, (_, index) => ({ name: `app-${index}`, kind: 'app' as const, cpu: cpu() })),
  ];
  return { uid, guaranteed: below(12) > 0, pick: below(8) - 1, containers };
}

/** A short text that differs for different decisions. */
export function digestOf(decisions: readonly string[]): string {
  return createHash('sha256').update(decisions.join('\n')).digest('base64url').slice(0, 12);
}
