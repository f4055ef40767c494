import type { Node } from '../../../api/generated/core-v1.ts';
import { patchShape } from '../../api-client/patch-shapes.ts';
import { isMap, type PatchMap } from '../../api-client/patch-value.ts';
import { isSame, strategicDiff } from '../../api-client/strategic-diff.ts';

const SHAPE = patchShape('nodes');

/**
 * The patch of the status subresource from `before` to `after`, including labels and annotations but never the spec.
 * Its UID makes it fail for another node of the same name.
 */
export function nodePatch(before: Node, after: Node): PatchMap {
  const diff = strategicDiff(patchableFields(before), patchableFields(withAddressesOf(before, after)), SHAPE);
  const { uid } = before.metadata;
  const metadata = { ...(isMap(diff['metadata']) ? diff['metadata'] : {}), ...(uid && { uid }) };
  const status = { ...(isMap(diff['status']) ? diff['status'] : {}), ...replacedAddresses(before, after) };
  return { metadata, ...(Object.keys(status).length > 0 && { status }) };
}

/** Whether the status, labels or annotations differ. */
export function hasNodeChanged(before: Node, after: Node): boolean {
  return !isSame(comparableNode(before), comparableNode(after));
}

/** Heartbeat times are ignored. */
function comparableNode({ metadata, status }: Node): unknown {
  const conditions = (status?.conditions ?? []).map(({ lastHeartbeatTime: _heartbeat, ...condition }) => condition);
  return {
    labels: metadata.labels,
    annotations: metadata.annotations,
    status: { ...status, conditions: conditions.sort((a, b) => (a.type < b.type ? -1 : 1)) },
  };
}

function patchableFields({ metadata: { labels, annotations }, status }: Node): PatchMap {
  return { metadata: { labels, annotations }, status: { ...status } };
}

/** Addresses are declared as merged by type, but a type may occur several times: the list is replaced. */
function replacedAddresses(before: Node, after: Node): PatchMap {
  const [was, is] = [before.status?.addresses ?? [], after.status?.addresses ?? []];
  if (was.length === 0 || isSame(was, is)) return {};
  return { addresses: [...is, { $patch: 'replace' }] };
}

function withAddressesOf(before: Node, after: Node): Node {
  const addresses = before.status?.addresses ?? [];
  return addresses.length === 0 ? after : { ...after, status: { ...after.status, addresses } };
}
