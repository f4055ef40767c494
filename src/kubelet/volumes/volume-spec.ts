import type { PersistentVolume, PersistentVolumeClaim, Pod, Volume } from '../../api/generated/core-v1.ts';
import { errorText } from '../../base/error-text.ts';
import type { BoundClaim, PodClaims } from '../objects/pod-claims.ts';
import { CausedError, type ErrorCause } from '../pod/pod-cause.ts';
import { migrateToCsi } from './csi-migration/csi-migration.ts';

/** A volume of a pod, with its claim resolved. kubelet's `volume.Spec`. */
export interface VolumeSpec {
  /** Names the directories of the volume: the name of the persistent volume, else that in the pod. */
  readonly name: string;
  /** The entry of the pod's spec. */
  readonly volume: Volume;
  /** Absent for a volume that the pod's spec describes itself. */
  readonly bound?: BoundClaim;
  /** The pod asks for the whole volume to be read-only. */
  readonly readOnly: boolean;
  /** The persistent volume is of a type that was migrated to a CSI driver. */
  readonly isMigrated?: boolean;
  readonly mode: 'Filesystem' | 'Block';
}

/** How the containers of a pod use one of its volumes. */
export interface VolumeUse {
  readonly isMounted: boolean;
  readonly isDevice: boolean;
}

/** The name of the claim of a volume; `undefined` for a volume without one. */
export function claimNameOf(pod: Pod, { name, persistentVolumeClaim, ephemeral }: Volume): string | undefined {
  if (persistentVolumeClaim) return persistentVolumeClaim.claimName;
  return ephemeral && `${pod.metadata.name}-${name}`;
}

/** Looks up the claim of a volume. Rejects with kubelet's message, a `VolumeResolutionError`. */
export async function resolveVolume(
  pod: Pod,
  volume: Volume,
  use: VolumeUse,
  claims: PodClaims,
  signal: AbortSignal,
): Promise<VolumeSpec> {
  const claimName = claimNameOf(pod, volume);
  if (claimName === undefined) return { name: volume.name, volume, readOnly: false, mode: 'Filesystem' };
  const found = await claims.find(pod, claimName, signal).catch((cause: unknown) => {
    signal.throwIfAborted();
    throw claimError(pod, claimName, cause);
  });
  const bound = { ...found, volume: migrated(found.volume) };
  if (volume.ephemeral) checkOwner(pod, bound.claim);
  const mode = bound.volume.spec.volumeMode === 'Block' ? 'Block' : 'Filesystem';
  checkMode(volume.name, mode, use);
  const readOnly = volume.persistentVolumeClaim?.readOnly ?? false;
  const isMigrated = bound.volume !== found.volume;
  return { name: bound.volume.metadata.name, volume, bound, readOnly, mode, ...(isMigrated && { isMigrated }) };
}

/** Whether only one pod may use the volume. With several access modes it is unknown which one the pod means. */
export function isExclusive({ bound }: VolumeSpec): boolean {
  const { accessModes = [] } = bound?.volume.spec ?? {};
  return accessModes.length === 1 && accessModes[0] === 'ReadWriteOncePod';
}

/** The volume cannot be determined, so nothing was set up. */
export class VolumeResolutionError extends CausedError {
  override readonly name = 'VolumeResolutionError';
  /** The pod would have to be changed; waiting does not help. */
  readonly isFinal: boolean;

  constructor(
    message: string,
    podCause: ErrorCause | undefined,
    { isFinal, ...options }: ErrorOptions & { readonly isFinal: boolean },
  ) {
    super(message, podCause, options);
    this.isFinal = isFinal;
  }
}

/** The volume as its CSI driver knows it, if it is of a type that was migrated to one. */
function migrated(volume: PersistentVolume): PersistentVolume {
  try {
    return migrateToCsi(volume);
  } catch (cause) {
    const message = `failed to translate in-tree pv to CSI: ${errorText(cause)}`;
    throw new VolumeResolutionError(message, undefined, { cause, isFinal: false });
  }
}

function claimError(pod: Pod, claimName: string, cause: unknown): VolumeResolutionError {
  const text = errorText(cause);
  const message = `error processing PVC ${pod.metadata.namespace}/${claimName}: ${text}`;
  const podCause = { kind: 'claimNotReady', claim: claimName, error: text } as const;
  return new VolumeResolutionError(message, podCause, { cause, isFinal: false });
}

/** A claim of the same name that was not created for this pod must not be used. */
function checkOwner(pod: Pod, { metadata }: PersistentVolumeClaim): void {
  const owner = metadata.ownerReferences?.find(({ controller }) => controller);
  if (metadata.namespace === pod.metadata.namespace && owner?.uid === pod.metadata.uid) return;
  const podName = `${pod.metadata.namespace}/${pod.metadata.name}`;
  const message = `PVC ${metadata.namespace}/${metadata.name} was not created for pod ${podName} (pod is not owner)`;
  const podCause = { kind: 'claimNotReady', claim: metadata.name, error: 'it belongs to another object' } as const;
  throw new VolumeResolutionError(message, podCause, { isFinal: true });
}

function checkMode(name: string, mode: VolumeSpec['mode'], { isMounted, isDevice }: VolumeUse): void {
  const field =
    isMounted && mode === 'Block' ? 'volumeMounts' : isDevice && mode === 'Filesystem' ? 'volumeDevices' : '';
  if (field === '') return;
  const message = `volume ${name} has volumeMode ${mode}, but is specified in ${field}`;
  throw new VolumeResolutionError(message, undefined, { isFinal: true });
}
