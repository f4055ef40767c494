import type { HintsByResource, TopologyHint } from './hint-provider.ts';
import type { NumaNode } from './machine-topology.ts';
import { isNarrower, type NumaMask, numaCount } from './numa-mask.ts';

/** Which of two sets of NUMA nodes is the better one. */
export interface NumaPreference {
  /** All nodes of the machine. */
  readonly all: NumaMask;
  /** Of as many nodes, those that are closest to each other; absent: the lower ones. */
  readonly closest?: readonly NumaNode[] | undefined;
}

/** A hint of nodes that are known. */
interface MergedHint extends TopologyHint {
  readonly affinity: NumaMask;
}

const ANY: readonly TopologyHint[] = [{ affinity: undefined, preferred: true }];
const IMPOSSIBLE: readonly TopologyHint[] = [{ affinity: undefined, preferred: false }];

/** One list of hints for each resource, and one for each provider without a preference. */
export function providedHints(providers: readonly HintsByResource[]): readonly (readonly TopologyHint[])[] {
  return providers.flatMap((hints) => {
    if (hints.size === 0) return [ANY];
    return [...hints.values()].map((each) => (each === undefined ? ANY : each.length === 0 ? IMPOSSIBLE : each));
  });
}

/** The preferred hints of one node, or of any. */
export function singleNodeHints(resources: readonly (readonly TopologyHint[])[]): readonly (readonly TopologyHint[])[] {
  return resources.map((hints) =>
    hints.filter(({ affinity, preferred }) => preferred && (affinity === undefined || numaCount(affinity) === 1)),
  );
}

/**
 * The best of all combinations of one hint of each resource. A combination consists of the nodes that all of its hints have
 * in common, and is preferred if its hints are preferred and equal. Without one, it is any node, and not preferred.
 */
export function bestHint(resources: readonly (readonly TopologyHint[])[], preference: NumaPreference): TopologyHint {
  const bestCount = resources.reduce((count, hints) => Math.max(count, narrowestCount(hints)), 0);
  let best: MergedHint | undefined;
  for (const candidate of combinations(resources, preference.all)) {
    if (candidate.affinity !== 0n) best = best ? better(best, candidate, bestCount, preference) : candidate;
  }
  const { affinity, preferred } = best ?? { affinity: preference.all, preferred: false };
  return { affinity, preferred };
}

/**
 * Combinations with the same result are one, so that many hints of many resources take little time. A preferred combination
 * consists of equal hints: `first` is the nodes of all of them; `undefined` while all of them are of any node.
 */
function combinations(resources: readonly (readonly TopologyHint[])[], all: NumaMask): Iterable<MergedHint> {
  interface Combination extends MergedHint {
    readonly first: NumaMask | undefined;
  }
  let found = new Map<string, Combination>([['', { affinity: all, preferred: true, first: undefined }]]);
  for (const hints of resources) {
    const next = new Map<string, Combination>();
    for (const before of found.values()) {
      for (const { affinity, preferred } of hints) {
        const first = before.first ?? affinity;
        const one: Combination = {
          affinity: affinity === undefined ? before.affinity : before.affinity & affinity,
          preferred: before.preferred && preferred && (affinity === undefined || affinity === first),
          first,
        };
        const key = one.preferred ? `preferred ${first}` : `${one.affinity}`;
        if (!next.has(key)) next.set(key, one);
      }
    }
    found = next;
  }
  return found.values();
}

function narrowestCount(hints: readonly TopologyHint[]): number {
  const counts = hints.flatMap(({ affinity }) => (affinity === undefined ? [] : [numaCount(affinity)]));
  return counts.length === 0 ? 0 : Math.min(...counts);
}

/**
 * Of hints that are not preferred, the one with a number of nodes as close to `bestCount` as possible, and not above it:
 * the nodes of the resource that needs most of them.
 */
function better(current: MergedHint, candidate: MergedHint, bestCount: number, preference: NumaPreference): MergedHint {
  if (current.preferred !== candidate.preferred) return current.preferred ? current : candidate;
  if (current.preferred) return fitter(current, candidate, preference);
  const [has, gets] = [numaCount(current.affinity), numaCount(candidate.affinity)];
  if (has > bestCount) return fitter(current, candidate, preference);
  if (gets > bestCount) return current;
  if (gets !== has) return gets > has ? candidate : current;
  return fitter(current, candidate, preference);
}

function fitter(current: MergedHint, candidate: MergedHint, { closest }: NumaPreference): MergedHint {
  const [one, other] = [current.affinity, candidate.affinity];
  if (one === other) return current;
  if (!closest || numaCount(one) !== numaCount(other)) return isNarrower(one, other) ? current : candidate;
  const [distance, otherDistance] = [averageDistance(one, closest), averageDistance(other, closest)];
  if (distance === otherDistance) return one < other ? current : candidate;
  return distance < otherDistance ? current : candidate;
}

function averageDistance(mask: NumaMask, nodes: readonly NumaNode[]): number {
  const isIn = nodes.map(({ id }) => numaHas(mask, id));
  const distances = nodes.flatMap((node, at) => (isIn[at] ? node.distances.filter((_, other) => isIn[other]) : []));
  return distances.reduce((sum, each) => sum + each, 0) / distances.length;
}

function numaHas(mask: NumaMask, node: number): boolean {
  return ((mask >> BigInt(node)) & 1n) === 1n;
}
