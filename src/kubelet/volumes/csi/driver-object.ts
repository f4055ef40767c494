import type { CSIDriver, Pod } from '../../../api/generated/core-v1.ts';
import { goQuote } from '../../../base/go/go-quote.ts';
import { CSI_PLUGIN, type CsiVolume } from './csi-volume.ts';

/** The rules of a CSIDriver object; `undefined` stands for a driver without one. */
export type DriverObject = CSIDriver | undefined;

/** The controller attaches volumes unless the driver says that it need not. */
export function needsAttach(object: DriverObject): boolean {
  return object?.spec.attachRequired !== false;
}

/** The volume is published again at every sync of its pod. */
export function needsRepublish(object: DriverObject): boolean {
  return object?.spec.requiresRepublish ?? false;
}

/** Throws kubelet's message for a volume of a kind that the driver does not support. */
export function checkLifecycle({ driver, lifecycle }: CsiVolume, object: DriverObject): void {
  const refused = `volume mode "${lifecycle}" not supported by driver ${driver}`;
  if (!object) {
    if (lifecycle === 'Persistent') return;
    throw new Error(`${refused} (no CSIDriver object)`);
  }
  const modes = object.spec.volumeLifecycleModes ?? [];
  if (!modes.includes(lifecycle)) throw new Error(`${refused} (only supports [${modes.map(goQuote).join(' ')}])`);
}

/** When the agent changes the group of the files. */
export type FsGroupPolicy = 'ReadWriteOnceWithFSType' | 'File' | 'None' | (string & {});

export function fsGroupPolicyOf(object: DriverObject): FsGroupPolicy {
  if (!object) return 'ReadWriteOnceWithFSType';
  const { fsGroupPolicy } = object.spec;
  if (!fsGroupPolicy) {
    throw new Error(`${CSI_PLUGIN}: expected valid fsGroupPolicy, received nil value or empty string`);
  }
  return fsGroupPolicy;
}

/** Whether the files of a published volume are given to the pod's fsGroup. */
export function changesGroup(volume: CsiVolume, policy: FsGroupPolicy): boolean {
  if (policy === 'None' || volume.readOnly) return false;
  if (policy === 'File') return true;
  if (volume.fsType === '') return false;
  if (volume.lifecycle === 'Ephemeral') return true;
  return volume.accessModes?.some((mode) => mode === 'ReadWriteOnce' || mode === 'ReadWriteOncePod') ?? false;
}

/** The attributes of the pod that a driver with `podInfoOnMount` gets. */
export function podInfo(object: DriverObject, { metadata, spec }: Pod, lifecycle: CsiVolume['lifecycle']) {
  if (!object?.spec.podInfoOnMount) return {};
  return {
    'csi.storage.k8s.io/pod.name': metadata.name,
    'csi.storage.k8s.io/pod.namespace': metadata.namespace,
    'csi.storage.k8s.io/pod.uid': metadata.uid,
    'csi.storage.k8s.io/serviceAccount.name': spec.serviceAccountName ?? '',
    'csi.storage.k8s.io/ephemeral': String(lifecycle === 'Ephemeral'),
  };
}
