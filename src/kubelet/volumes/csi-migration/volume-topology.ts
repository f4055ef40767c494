import type {
  NodeSelectorRequirement,
  NodeSelectorTerm,
  PersistentVolume,
  PersistentVolumeSpec,
} from '../../../api/generated/core-v1.ts';
import { byCodePoint } from '../../../base/code-point-order.ts';

const GA = { zone: 'topology.kubernetes.io/zone', region: 'topology.kubernetes.io/region' };
const BETA = { zone: 'failure-domain.beta.kubernetes.io/zone', region: 'failure-domain.beta.kubernetes.io/region' };

interface CsiTopologyKeys {
  readonly zoneKey: string;
  readonly regionKey?: string | undefined;
}

/**
 * The spec with the driver's topology keys in place of those of Kubernetes. A volume without node affinity gets it from its
 * labels. Beta keys of regions become the final ones, which all nodes have.
 */
export function withCsiTopology(
  { metadata: { labels = {} }, spec: { nodeAffinity } }: PersistentVolume,
  spec: PersistentVolumeSpec,
  { zoneKey, regionKey }: CsiTopologyKeys,
): PersistentVolumeSpec {
  const before = nodeAffinity?.required?.nodeSelectorTerms ?? [];
  const { zone, region } = keysOf(before, labels);
  // Only drivers without a key of their own for regions have disks in several zones.
  const zones = regionKey === undefined ? (labels[zone] ?? '').split('__') : [labels[zone] ?? ''];
  const zoned = moveKey(before, zone, zoneKey, zones);
  const terms = moveRegion(zoned, region, regionKey, labels[region] ?? '');
  return terms.length === 0 ? spec : { ...spec, nodeAffinity: { required: { nodeSelectorTerms: terms } } };
}

function moveRegion(
  terms: readonly NodeSelectorTerm[],
  key: string,
  csiKey: string | undefined,
  label: string,
): readonly NodeSelectorTerm[] {
  if (csiKey !== undefined) return moveKey(terms, key, csiKey, [label]);
  return key === BETA.region ? renameKey(terms, key, GA.region) : terms;
}

/** The keys that the volume uses: in its node affinity, else in its labels. */
function keysOf(terms: readonly NodeSelectorTerm[], labels: Readonly<Record<string, string>>): typeof GA {
  if (hasKey(terms, GA.zone)) return GA;
  if (hasKey(terms, BETA.zone)) return BETA;
  return labels[GA.zone] === undefined && labels[BETA.zone] !== undefined ? BETA : GA;
}

/** Renames the key, or adds a requirement for the values of the label where no term has any value of it. */
function moveKey(
  terms: readonly NodeSelectorTerm[],
  from: string,
  to: string,
  labelValues: readonly string[],
): readonly NodeSelectorTerm[] {
  if (hasValues(terms, from)) return renameKey(terms, from, to);
  const values = [...new Set(labelValues.map((value) => value.trim()))]
    .filter((value) => value !== '')
    .toSorted(byCodePoint);
  if (values.length === 0) return terms;
  const requirement: NodeSelectorRequirement = { key: to, operator: 'In', values };
  const given = terms.length === 0 ? [{}] : terms;
  return given.map((term: NodeSelectorTerm) => ({
    ...term,
    matchExpressions: [...(term.matchExpressions ?? []), requirement],
  }));
}

function renameKey(terms: readonly NodeSelectorTerm[], from: string, to: string): readonly NodeSelectorTerm[] {
  return terms.map(({ matchExpressions, ...term }) => ({
    ...term,
    ...(matchExpressions && {
      matchExpressions: matchExpressions.map((each) => (each.key === from ? { ...each, key: to } : each)),
    }),
  }));
}

function hasKey(terms: readonly NodeSelectorTerm[], key: string): boolean {
  return terms.some(({ matchExpressions = [] }) => matchExpressions.some((each) => each.key === key));
}

function hasValues(terms: readonly NodeSelectorTerm[], key: string): boolean {
  return terms.some(({ matchExpressions = [] }) =>
    matchExpressions.some((each) => each.key === key && (each.values ?? []).length > 0),
  );
}
