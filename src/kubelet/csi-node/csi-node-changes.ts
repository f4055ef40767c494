import { isDeepStrictEqual } from 'node:util';
import type { CSINode, CSINodeDriver, Node } from '../../api/generated/core-v1.ts';
import { byCodePoint } from '../../base/code-point-order.ts';
import { goJson } from '../../base/go/go-json.ts';
import { goQuote } from '../../base/go/go-quote.ts';
import type { CsiNodeInfo } from '../../plugins/csi/csi-node-info.ts';

const NODE_ID_ANNOTATION = 'csi.volume.kubernetes.io/nodeid';
const MIGRATED_ANNOTATION = 'storage.alpha.kubernetes.io/migrated-plugins';

/** The in-tree plugins whose volumes CSI drivers mount, in order: the scheduler reads them from the CSINode. */
const MIGRATED_PLUGINS = [
  'kubernetes.io/aws-ebs',
  'kubernetes.io/azure-disk',
  'kubernetes.io/azure-file',
  'kubernetes.io/cinder',
  'kubernetes.io/gce-pd',
  'kubernetes.io/portworx-volume',
  'kubernetes.io/vsphere-volume',
].join(',');

const MAX_INT32 = 2n ** 31n - 1n;

export function newCsiNode(nodeName: string, nodeUid: string): CSINode {
  const owner = { apiVersion: 'v1', kind: 'Node', name: nodeName, uid: nodeUid };
  return {
    apiVersion: 'storage.k8s.io/v1',
    kind: 'CSINode',
    metadata: { name: nodeName, ownerReferences: [owner], annotations: { [MIGRATED_ANNOTATION]: MIGRATED_PLUGINS } },
    spec: { drivers: [] },
  };
}

/** The UID of the node that owns the object, if it is not the given one; `undefined` if it is. */
export function otherOwner({ metadata }: CSINode, nodeName: string, nodeUid: string): string | undefined {
  const owners = (metadata.ownerReferences ?? []).filter(({ kind }) => kind === 'Node');
  if (owners.some(({ name, uid }) => name === nodeName && uid === nodeUid)) return undefined;
  return owners.at(-1)?.uid ?? '';
}

/** Returns the same object if it has the annotation already. */
export function withMigratedPlugins(csiNode: CSINode): CSINode {
  const { annotations } = csiNode.metadata;
  const known = annotations?.[MIGRATED_ANNOTATION]?.split(',').sort(byCodePoint).join(',');
  if (known === MIGRATED_PLUGINS) return csiNode;
  const metadata = { ...csiNode.metadata, annotations: { ...annotations, [MIGRATED_ANNOTATION]: MIGRATED_PLUGINS } };
  return { ...csiNode, metadata };
}

/** Returns the same object if nothing changes. */
export function withDriver(csiNode: CSINode, name: string, info: CsiNodeInfo): CSINode {
  const annotated = withMigratedPlugins(csiNode);
  const drivers = driversOf(csiNode);
  const before = drivers.find((each) => each.name === name);
  if (before && annotated === csiNode && isSameDriver(before, info)) return csiNode;
  const others = drivers.filter((each) => each.name !== name);
  return { ...annotated, spec: { ...annotated.spec, drivers: [...others, driverOf(name, info)] } };
}

/** Returns the same object if it does not have the driver. */
export function withoutDriver(csiNode: CSINode, name: string): CSINode {
  const before = driversOf(csiNode);
  const drivers = before.filter((each) => each.name !== name);
  return drivers.length === before.length ? csiNode : { ...csiNode, spec: { ...csiNode.spec, drivers } };
}

/** The API server returns an empty list as null, which the schema does not show. */
function driversOf({ spec }: CSINode): readonly CSINodeDriver[] {
  const drivers: readonly CSINodeDriver[] | null = spec.drivers;
  return drivers ?? [];
}

/** What the CSINode object shows of a limit that it cannot have. */
export function attachLimitError({ maxVolumes }: CsiNodeInfo): string | undefined {
  if (maxVolumes > MAX_INT32) return 'exceeded max supported attach limit value, truncating it';
  return maxVolumes < 0n ? 'invalid attach limit value cannot be added to CSINode object' : undefined;
}

/** Labels and annotations of the Node to set, and to remove (`null`); `undefined` if nothing changes. */
export interface NodeMetadataPatch {
  readonly annotations?: Readonly<Record<string, string | null>>;
  readonly labels?: Readonly<Record<string, string>>;
}

/** The driver's node ID and topology. Throws if the node has another value of a topology label. */
export function nodePatchForDriver(
  node: Pick<Node, 'metadata'>,
  name: string,
  { nodeId, topology }: CsiNodeInfo,
): NodeMetadataPatch | undefined {
  const ids = nodeIds(node);
  const { labels: existing = {} } = node.metadata;
  const labels: Record<string, string> = {};
  for (const [key, value] of Object.entries(topology)) {
    const current = existing[key];
    if (current !== undefined && current !== value) {
      const [reported, label] = [`${goQuote(key)}:${goQuote(value)}`, `${goQuote(key)}:${goQuote(current)}`];
      throw new Error(`detected topology value collision: driver reported ${reported} but existing label is ${label}`);
    }
    if (current === undefined) labels[key] = value;
  }
  const hasLabels = Object.keys(labels).length > 0;
  if (ids.get(name) === nodeId) return hasLabels ? { labels } : undefined;
  const annotations = nodeIdAnnotation(new Map([...ids, [name, nodeId]]));
  return { annotations, ...(hasLabels && { labels }) };
}

/** Topology labels stay: volumes of the driver may still need them. */
export function nodePatchWithoutDriver(node: Pick<Node, 'metadata'>, name: string): NodeMetadataPatch | undefined {
  const ids = nodeIds(node);
  if (!ids.has(name)) return undefined;
  return { annotations: nodeIdAnnotation(new Map([...ids].filter(([each]) => each !== name))) };
}

/** Throws with kubelet's message for an annotation that cannot be read. */
function nodeIds({ metadata }: Pick<Node, 'metadata'>): ReadonlyMap<string, string> {
  const text = metadata.annotations?.[NODE_ID_ANNOTATION];
  if (!text) return new Map();
  const fail = (reason: string): never => {
    throw new Error(
      `failed to parse node's ${goQuote(NODE_ID_ANNOTATION)} annotation value (${goQuote(text)}) err=${reason}`,
    );
  };
  const value = ((): unknown => {
    try {
      return JSON.parse(text);
    } catch (error) {
      return fail(String(error));
    }
  })();
  if (value === null) return new Map();
  if (typeof value !== 'object' || Array.isArray(value)) return fail('not an object of strings');
  const entries = Object.entries(value);
  const strings = entries.filter((entry): entry is [string, string] => typeof entry[1] === 'string');
  return strings.length === entries.length ? new Map(strings) : fail('not an object of strings');
}

function nodeIdAnnotation(ids: ReadonlyMap<string, string>): Record<string, string | null> {
  const sorted = [...ids].sort(([a], [b]) => byCodePoint(a, b));
  return { [NODE_ID_ANNOTATION]: ids.size === 0 ? null : goJson(Object.fromEntries(sorted)) };
}

function driverOf(name: string, info: CsiNodeInfo): CSINodeDriver {
  const count = allocatableCount(info);
  const topologyKeys = Object.keys(info.topology).sort(byCodePoint);
  return { name, nodeID: info.nodeId, topologyKeys, ...(count !== undefined && { allocatable: { count } }) };
}

/** Absent: the driver has no limit. */
function allocatableCount({ maxVolumes }: CsiNodeInfo): number | undefined {
  if (maxVolumes <= 0n) return undefined;
  return Number(maxVolumes > MAX_INT32 ? MAX_INT32 : maxVolumes);
}

function isSameDriver(before: CSINodeDriver, info: CsiNodeInfo): boolean {
  const after = driverOf(before.name, info);
  const keys = [...new Set(before.topologyKeys)].sort(byCodePoint);
  return (
    before.nodeID === after.nodeID &&
    isDeepStrictEqual(keys, after.topologyKeys) &&
    before.allocatable?.count === after.allocatable?.count
  );
}
