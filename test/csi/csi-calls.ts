import { byCodePoint } from '../../src/base/code-point-order.ts';
import { VolumeCapability_AccessMode_Mode } from '../../src/plugins/generated/csi-v1.ts';

/** A call of an agent to a CSI driver. */
export interface CsiCall {
  readonly method: string;
  readonly request: unknown;
  /** The name of the gRPC code: `OK`. */
  readonly code: string;
}

/** Methods that an agent may call at any time, and more or less often. */
const UNCOUNTED = new Set(['NodeGetCapabilities', 'NodeGetInfo', 'NodeGetVolumeStats', 'Probe', 'GetPluginInfo']);
const ACCESS_MODES = Object.entries(VolumeCapability_AccessMode_Mode);

/** A message as JSON: access modes by name, large numbers as text, unset fields omitted. */
export function messageJson(message: object): unknown {
  return JSON.parse(JSON.stringify(message, jsonValue));
}

function jsonValue(key: string, value: unknown): unknown {
  if (typeof value === 'bigint') return `${value}`;
  if (key === 'mode') return ACCESS_MODES.find(([, number]) => number === value)?.[0] ?? value;
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  const members = Object.entries(value).filter(([name, member]) => isSet(name, member));
  return Object.fromEntries(members.sort(([a], [b]) => byCodePoint(a, b))); // Go sends maps in any order
}

function isSet(name: string, member: unknown): boolean {
  if (name === 'block' || name === 'mount') return member !== undefined; // an empty one is a choice too
  if (typeof member === 'object' && member !== null) return Object.keys(member).length > 0;
  return Boolean(member);
}

/** The calls that change volumes. */
export function volumeCalls(calls: readonly CsiCall[]): readonly CsiCall[] {
  return calls.filter(({ method }) => !UNCOUNTED.has(method));
}

/** Without calls that repeat the one before: the number of attempts depends on time. */
export function withoutRepetitions(calls: readonly CsiCall[]): readonly CsiCall[] {
  return calls.filter((call, index) => JSON.stringify(call) !== JSON.stringify(calls[index - 1]));
}

interface VolumeRequest {
  readonly volumeId?: string;
  readonly stagingTargetPath?: string;
  readonly targetPath?: string;
}

/** Volumes that are staged or published after these calls, each with its path. */
export function volumesInPlace(calls: readonly CsiCall[]): readonly string[] {
  const inPlace = new Set<string>();
  for (const { method, request, code } of calls) {
    if (code !== 'OK') continue;
    const { volumeId, stagingTargetPath, targetPath } = request as VolumeRequest;
    if (method === 'NodeStageVolume') inPlace.add(`volume ${volumeId} staged at ${stagingTargetPath}`);
    if (method === 'NodeUnstageVolume') inPlace.delete(`volume ${volumeId} staged at ${stagingTargetPath}`);
    if (method === 'NodePublishVolume') inPlace.add(`volume ${volumeId} published at ${targetPath}`);
    if (method === 'NodeUnpublishVolume') inPlace.delete(`volume ${volumeId} published at ${targetPath}`);
  }
  return [...inPlace];
}
