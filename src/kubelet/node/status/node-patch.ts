import type { Node } from '../../../api/generated/core-v1.ts';
import { patchShape } from '../../api-client/patch-shapes.ts';
import { isMap, type PatchMap } from '../../api-client/patch-value.ts';
import { isSame, strategicDiff } from '../../api-client/strategic-diff.ts';

const SHAPE = patchShape('nodes');

/**
 * What is sent to make `after` of `before`, by way of the status: labels and annotations go with it, the spec never does.
 * It is for exactly this node: another one of the same name is left alone.
 */
export function nodePatch(before: Node, after: Node): PatchMap {
  const diff = strategicDiff(patchableFields(before), patchableFields(withAddressesOf(before, after)), SHAPE);
  const { uid } = before.metadata;
  const metadata = { ...(isMap(diff['metadata']) ? diff['metadata'] : {}), ...(uid && { uid }) };
  const status = { ...(isMap(diff['status']) ? diff['status'] : {}), ...replacedAddresses(before, after) };
  return { metadata, ...(Object.keys(status).length > 0 && { status }) };
}

/** Whether there is anything in a node's status, or in what goes with it, that the API server does not know. */
export function hasNodeChanged(before: Node, after: Node): boolean {
  return !isSame(comparableNode(before), comparableNode(after));
}

/** When a condition was last looked at is no news. */
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

/** Addresses are declared to be merged by their type, of which there may be several: they are replaced instead. */
function replacedAddresses(before: Node, after: Node): PatchMap {
  const [was, is] = [before.status?.addresses ?? [], after.status?.addresses ?? []];
  if (was.length === 0 || isSame(was, is)) return {};
  return { addresses: [...is, { $patch: 'replace' }] };
}

function withAddressesOf(before: Node, after: Node): Node {
  const addresses = before.status?.addresses ?? [];
  return addresses.length === 0 ? after : { ...after, status: { ...after.status, addresses } };
}
