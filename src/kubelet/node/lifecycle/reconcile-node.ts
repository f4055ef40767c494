import type { Node, NodeStatus } from '../../../api/generated/core-v1.ts';
import { parseQuantity } from '../../../base/quantity.ts';
import { isExtended, isHugePages } from '../status/node-resources.ts';
import { ATTACH_DETACH } from './initial-node.ts';

/** The labels that are updated on an existing node; all others are set only at its creation. */
const RECONCILED_LABELS = [
  'kubernetes.io/hostname',
  'topology.kubernetes.io/zone',
  'topology.kubernetes.io/region',
  'failure-domain.beta.kubernetes.io/zone',
  'failure-domain.beta.kubernetes.io/region',
  'node.kubernetes.io/instance-type',
  'beta.kubernetes.io/instance-type',
  'kubernetes.io/os',
  'kubernetes.io/arch',
  'beta.kubernetes.io/os',
  'beta.kubernetes.io/arch',
];

/**
 * Updates an existing node: some labels, one annotation and the huge pages as in a new node. The rest of the status
 * follows with its next update.
 */
export function reconcileNode(existing: Node, initial: Node): Node {
  return {
    ...existing,
    metadata: {
      ...existing.metadata,
      labels: reconciledLabels(existing, initial),
      annotations: reconciledAnnotations(existing, initial),
    },
    status: { ...existing.status, ...reconciledResources(existing.status ?? {}, initial.status ?? {}) },
  };
}

/** Without a checkpoint of devices the machine is new: it has none until their plugins register. */
export function withoutDevices(node: Node): Node {
  const { capacity = {}, allocatable = {} } = node.status ?? {};
  const zeros = Object.fromEntries(
    Object.keys(capacity)
      .filter(isExtended)
      .map((name) => [name, '0']),
  );
  return {
    ...node,
    status: { ...node.status, capacity: { ...capacity, ...zeros }, allocatable: { ...allocatable, ...zeros } },
  };
}

function reconciledLabels(existing: Node, { metadata }: Node): Record<string, string> {
  const own = RECONCILED_LABELS.flatMap((label) => {
    const value = metadata.labels?.[label];
    return value === undefined ? [] : [[label, value] as const];
  });
  const labels = new Map([...Object.entries(existing.metadata.labels ?? {}), ...own]);
  for (const [label, value] of own) if (value === '') labels.delete(label);
  return Object.fromEntries(labels);
}

function reconciledAnnotations({ metadata }: Node, initial: Node): Record<string, string> {
  const { [ATTACH_DETACH]: _before, ...others } = metadata.annotations ?? {};
  const wanted = initial.metadata.annotations?.[ATTACH_DETACH];
  return wanted === undefined ? others : { ...others, [ATTACH_DETACH]: wanted };
}

type Resources = Pick<NodeStatus, 'capacity' | 'allocatable'>;
type Amounts = NonNullable<NodeStatus['capacity']>;

function reconciledResources(existing: Resources, initial: Resources): Resources {
  const reconciled = (was: Amounts = {}, is: Amounts = {}): Amounts =>
    Object.keys(was).length === 0 ? is : withHugePages(was, is);
  return {
    capacity: reconciled(existing.capacity, initial.capacity),
    allocatable: reconciled(existing.allocatable, initial.allocatable),
  };
}

/** Page sizes that the machine no longer has are removed. */
function withHugePages(was: Amounts, is: Amounts): Amounts {
  const others = Object.entries(was).filter(([name]) => !isHugePages(name));
  const pages = Object.entries(is).filter(([name]) => isHugePages(name));
  return Object.fromEntries([
    ...others,
    ...pages.map(([name, amount]) => [name, isEqual(was[name], amount) ? (was[name] ?? amount) : amount] as const),
  ]);
}

function isEqual(a: Amounts[string] | undefined, b: Amounts[string]): boolean {
  return a !== undefined && parseQuantity(a).compare(parseQuantity(b)) === 0;
}
