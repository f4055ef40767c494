import type { HintsByResource, TopologyHint } from './hint-provider.ts';
import type { MachineTopology } from './machine-topology.ts';
import { bestHint, type NumaPreference, providedHints, singleNodeHints } from './merge-hints.ts';
import { numaMask } from './numa-mask.ts';
import { PlacementConfigError, type TopologySettings, topologyOptions } from './topology-options.ts';

/** Merges the hints of all providers. */
export interface TopologyPolicy {
  readonly name: TopologySettings['policy'];
  /** The resources are assigned within the hint; not admitted: the pod is rejected. */
  merge(providers: readonly HintsByResource[]): { readonly hint: TopologyHint; readonly isAdmitted: boolean };
}

/** No policy: providers choose by themselves. */
const NONE: TopologyPolicy = {
  name: 'none',
  merge: () => ({ hint: { affinity: undefined, preferred: false }, isAdmitted: true }),
};

/** Throws a `PlacementConfigError` with kubelet's message for options that are wrong, or a machine with too many nodes. */
export function topologyPolicy(
  { policy, options: texts }: Pick<TopologySettings, 'policy' | 'options'>,
  machine: Pick<MachineTopology, 'numaNodes'>,
): TopologyPolicy {
  if (policy === 'none') return NONE;
  const { preferClosest, maxNumaNodes } = topologyOptions(texts);
  const { numaNodes } = machine;
  if (numaNodes.length > maxNumaNodes)
    throw new PlacementConfigError(`unsupported on machines with more than ${maxNumaNodes} NUMA Nodes`);
  if (preferClosest && numaNodes.some(({ distances }) => distances.length === 0))
    throw new PlacementConfigError('cannot discover NUMA topology: error getting NUMA distances from cadvisor');
  const all = numaMask(numaNodes.map(({ id }) => id));
  const isSingle = policy === 'single-numa-node';
  const preference: NumaPreference = isSingle || !preferClosest ? { all } : { all, closest: numaNodes };
  return {
    name: policy,
    merge(providers) {
      const hints = providedHints(providers);
      const best = bestHint(isSingle ? singleNodeHints(hints) : hints, preference);
      const hint = isSingle && best.affinity === all ? { ...best, affinity: undefined } : best;
      return { hint, isAdmitted: policy === 'best-effort' || hint.preferred };
    },
  };
}
