import { createHash } from 'node:crypto';
import type { PersistentVolume, SecretReference } from '../../../api/generated/core-v1.ts';
import type { VolumeSpec } from '../volume-spec.ts';

export const CSI_PLUGIN = 'kubernetes.io/csi';

interface AnyCsiVolume {
  /** Of the persistent volume, or of the volume in the pod. */
  readonly name: string;
  readonly driver: string;
  /** The driver's name of the volume. */
  readonly handle: string;
  /** Empty: the driver's default. */
  readonly fsType: string;
  readonly attributes: Readonly<Record<string, string>>;
  readonly readOnly: boolean;
  /** The volume is of a type that was migrated to the driver. */
  readonly isMigrated: boolean;
  readonly publishSecret: SecretReference | undefined;
}

/** A persistent volume. */
export interface PersistentCsiVolume extends AnyCsiVolume {
  readonly lifecycle: 'Persistent';
  /** kubelet's unique volume name. */
  readonly id: string;
  readonly accessModes: readonly string[] | undefined;
  readonly mountOptions: readonly string[];
  readonly stageSecret: SecretReference | undefined;
  readonly expandSecret: SecretReference | undefined;
  readonly pv: PersistentVolume;
}

/** A volume that the pod's spec describes itself, and that exists as long as the pod. It is never staged. */
export interface EphemeralCsiVolume extends AnyCsiVolume {
  readonly lifecycle: 'Ephemeral';
}

export type CsiVolume = PersistentCsiVolume | EphemeralCsiVolume;

/** The CSI volume of a pod; `undefined` for a volume of another type. */
export function csiVolumeOf(
  spec: VolumeSpec,
  pod: { readonly uid: string; readonly namespace: string },
): CsiVolume | undefined {
  const { name, volume, bound, readOnly, isMigrated = false } = spec;
  if (bound) return persistentVolumeOf(bound.volume, { readOnly, isMigrated });
  const source = volume.csi;
  if (!source) return undefined;
  const secretName = source.nodePublishSecretRef?.name;
  return {
    lifecycle: 'Ephemeral',
    name,
    driver: source.driver,
    handle: ephemeralHandle(pod.uid, name),
    fsType: source.fsType ?? '',
    attributes: source.volumeAttributes ?? {},
    readOnly: source.readOnly ?? false,
    isMigrated: false,
    publishSecret: secretName === undefined ? undefined : { namespace: pod.namespace, name: secretName },
  };
}

/** `readOnly` is that of the claim in the pod: `csi.readOnly` is for the controller that attaches the volume. */
export function persistentVolumeOf(
  pv: PersistentVolume,
  { readOnly, isMigrated }: Pick<PersistentCsiVolume, 'readOnly' | 'isMigrated'>,
): PersistentCsiVolume | undefined {
  const { csi, accessModes, mountOptions } = pv.spec;
  if (!csi) return undefined;
  return {
    lifecycle: 'Persistent',
    id: volumeId(csi.driver, csi.volumeHandle),
    name: pv.metadata.name,
    driver: csi.driver,
    handle: csi.volumeHandle,
    fsType: csi.fsType ?? '',
    attributes: csi.volumeAttributes ?? {},
    readOnly,
    isMigrated,
    publishSecret: csi.nodePublishSecretRef,
    accessModes,
    mountOptions: mountOptions ?? [],
    stageSecret: csi.nodeStageSecretRef,
    expandSecret: csi.nodeExpandSecretRef,
    pv,
  };
}

/** kubelet's unique volume name: `kubernetes.io/csi/driver^handle`. */
export function volumeId(driver: string, handle: string): string {
  return `${CSI_PLUGIN}/${driver}^${handle}`;
}

/** The parts of a unique volume name; names of drivers have no `^`. */
export function volumeOfId(id: string): { readonly driver: string; readonly handle: string } {
  const end = id.indexOf('^');
  return { driver: id.slice(CSI_PLUGIN.length + 1, end), handle: id.slice(end + 1) };
}

/** The name of the VolumeAttachment of a volume. */
export function attachmentName(handle: string, driver: string, nodeName: string): string {
  return `csi-${sha256(`${handle}${driver}${nodeName}`)}`;
}

export function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

function ephemeralHandle(podUid: string, volumeName: string): string {
  return `csi-${sha256(`${podUid}${volumeName}`)}`;
}
