import type { PersistentVolumeClaimSpec } from '../../api/generated/core-v1.ts';
import { errorText } from '../../base/error-text.ts';
import { type Json, jsonArray, jsonObject, jsonString } from '../../base/json-values.ts';

/** A pod as a record names it. */
export interface RecordedPod {
  readonly uid: string;
  readonly namespace: string;
  readonly name: string;
}

/** The volume of a claim: a directory that was created for it, or a PersistentVolume of the manifests. */
export type ClaimVolume = { readonly kind: 'provisioned' } | { readonly kind: 'manifest'; readonly name: string };

/**
 * A claim that has been used on a node without a cluster, with its volume. It outlives pods, agents and manifests: a
 * claim stays bound to its volume until the volume is removed.
 */
export interface ClaimRecord {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  /** RFC 3339. */
  readonly created: string;
  /** As the manifests had it when a pod last used it. */
  readonly spec: PersistentVolumeClaimSpec;
  readonly volume: ClaimVolume;
  /** Directory on this machine; absent for a volume without one. */
  readonly path?: string | undefined;
  /** The pod whose ephemeral volume it is: it is removed with the pod. */
  readonly owner?: RecordedPod | undefined;
  /** Recorded before a pod uses the volume, and removed after the pod has released it. */
  readonly usedBy: readonly RecordedPod[];
}

const VERSION = 1;

export function formatClaimRecord(record: ClaimRecord): string {
  return `${JSON.stringify({ version: VERSION, ...record }, undefined, 2)}\n`;
}

/** Returns an `Error` that names the file if the text is not a record. */
export function parseClaimRecord(file: string, text: string): ClaimRecord | Error {
  try {
    const { version, ...json } = jsonObject(JSON.parse(text), 'record');
    if (version !== VERSION) throw new Error(`version: expected ${VERSION}`);
    const volume = jsonObject(json['volume'], 'volume');
    return {
      namespace: jsonString(json['namespace'], 'namespace'),
      name: jsonString(json['name'], 'name'),
      uid: jsonString(json['uid'], 'uid'),
      created: jsonString(json['created'], 'created'),
      spec: jsonObject(json['spec'], 'spec') satisfies PersistentVolumeClaimSpec,
      volume: claimVolume(volume),
      ...(json['path'] !== undefined && { path: jsonString(json['path'], 'path') }),
      ...(json['owner'] !== undefined && { owner: recordedPod(json['owner'], 'owner') }),
      usedBy: jsonArray(json['usedBy'], 'usedBy').map((each) => recordedPod(each, 'usedBy')),
    };
  } catch (error) {
    return new Error(`cannot read the record of a volume ${file}: ${errorText(error)}`, { cause: error });
  }
}

function claimVolume(json: Json): ClaimVolume {
  const kind = jsonString(json['kind'], 'volume.kind');
  if (kind === 'provisioned') return { kind };
  if (kind === 'manifest') return { kind, name: jsonString(json['name'], 'volume.name') };
  throw new Error(`volume.kind: unknown kind ${JSON.stringify(kind)}`);
}

function recordedPod(value: unknown, field: string): RecordedPod {
  const json = jsonObject(value, field);
  const text = (name: string): string => jsonString(json[name], `${field}.${name}`);
  return { uid: text('uid'), namespace: text('namespace'), name: text('name') };
}
