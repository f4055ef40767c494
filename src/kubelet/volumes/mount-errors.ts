import { errorText } from '../../base/error-text.ts';
import { goErrorText } from '../../plugins/plugin-error.ts';
import { podCauseOf } from '../pod/pod-cause.ts';
import { PodError } from '../pod/pod-error.ts';
import { PodRejectedError } from '../pod/pod-rejected-error.ts';
import { VolumeError } from './volume-error.ts';
import { VolumeResolutionError, type VolumeSpec } from './volume-spec.ts';

/** kubelet's error for a step of a volume that failed. It names the volume as the node does. */
export function mountError(spec: VolumeSpec, cause: unknown): PodError {
  if (cause instanceof PodError) return cause;
  const isBlock = spec.mode === 'Block';
  const lastStep = isBlock ? 'MapVolume.MapPodDevice' : 'MountVolume.SetUp';
  const step = cause instanceof VolumeError ? cause.step : lastStep;
  const title = step.includes(' failed ') ? step : `${step} failed`;
  const podCause = { kind: 'volumeFailed', volume: spec.volume.name, cause: podCauseOf(cause) } as const;
  const text = goErrorText(cause);
  const isAttach = step === 'AttachVolume.Attach';
  const reason = isAttach ? 'FailedAttachVolume' : isBlock ? 'FailedMapVolume' : 'FailedMount';
  return new PodError(reason, `${title} for volume "${spec.name}" : ${text}`, { cause, podCause });
}

/** kubelet's error for volumes that could not be determined, or were not mounted in time. */
export function notMounted(name: string, unmounted: readonly string[], cause: unknown): PodError {
  const unknown = cause instanceof VolumeResolutionError ? [name] : [];
  const message = notMountedText({ unmounted, unknown, text: errorText(cause) });
  const podCause = { kind: 'volumeFailed', volume: name, cause: podCauseOf(cause) } as const;
  return new PodError('FailedMount', message, { cause, podCause });
}

/** kubelet's error for volumes that were not mounted in time, which it does not record as an event. */
export function mountTimedOut(name: string, lists: UnmountedVolumes, cause: unknown): PodError {
  const message = notMountedText({ ...lists, text: 'context deadline exceeded' });
  const podCause = { kind: 'volumeFailed', volume: name, cause: podCauseOf(cause) } as const;
  return new PodError('FailedMount', message, { cause, podCause, silent: true });
}

/** kubelet's error for a pod whose volumes are not attached because the node has no room for them. */
export function attachLimitExceeded(lists: UnmountedVolumes): PodRejectedError {
  const text = listsText({ ...lists, text: 'context deadline exceeded' });
  const message = `Node has reached its volume attachment limit, rejecting pod. ${text}`;
  return new PodRejectedError('VolumeAttachmentLimitExceeded', message);
}

interface UnmountedVolumes {
  readonly unmounted: readonly string[];
  readonly unattached?: readonly string[];
}

interface NotMounted extends UnmountedVolumes {
  readonly unknown?: readonly string[];
  readonly text: string;
}

function notMountedText(given: NotMounted): string {
  return `Unable to attach or mount volumes: ${listsText(given)}`;
}

function listsText({ unmounted, unattached = [], unknown = [], text }: NotMounted): string {
  const lists = [
    `unmounted volumes=[${unmounted.join(' ')}]`,
    `unattached volumes=[${unattached.join(' ')}]`,
    `failed to process volumes=[${unknown.join(' ')}]`,
  ];
  return `${lists.join(', ')}: ${text}`;
}

/** Persistent volumes of these types are passed to the driver; volumes in the spec of a pod are not. */
const inCsi = (driver: string): string =>
  `which is replaced by the CSI driver ${driver}: use a PersistentVolumeClaim, whose volume the driver mounts`;
const gone = (replacement: string): string => `which was removed from Kubernetes: use ${replacement}`;

/** Types that are not supported and never will be, and what to use instead of them. */
const REMOVED_TYPES: Readonly<Record<string, string>> = {
  awsElasticBlockStore: inCsi('ebs.csi.aws.com'),
  azureDisk: inCsi('disk.csi.azure.com'),
  azureFile: inCsi('file.csi.azure.com'),
  cinder: inCsi('cinder.csi.openstack.org'),
  gcePersistentDisk: inCsi('pd.csi.storage.gke.io'),
  portworxVolume: inCsi('pxd.portworx.com'),
  vsphereVolume: inCsi('csi.vsphere.vmware.com'),
  cephfs: gone('the CSI driver cephfs.csi.ceph.com'),
  rbd: gone('the CSI driver rbd.csi.ceph.com'),
  glusterfs: gone('an nfs volume or a CSI driver'),
  quobyte: gone('the CSI driver csi.quobyte.com'),
  scaleIO: gone('the CSI driver csi-vxflexos.dellemc.com'),
  storageos: gone('a CSI driver'),
  flocker: gone('a CSI driver'),
  photonPersistentDisk: gone('a CSI driver'),
  flexVolume: 'which is deprecated and has no drivers on this node: use a CSI driver',
  gitRepo:
    'which is disabled because it runs code of the repository as root: clone it in an init container into an emptyDir volume',
};

/** The types of volumes that a pod or a persistent volume may name. */
const OTHER_TYPES = ['csi', 'ephemeral', 'fc', 'hostPath', 'image', 'iscsi', 'local', 'nfs'] as const;

export function unsupportedVolume({ volume, bound, mode }: VolumeSpec): PodError {
  const { name, ...ownSource } = volume;
  const source = bound ? bound.volume.spec : ownSource;
  const types = new Set<string>([...Object.keys(REMOVED_TYPES), ...OTHER_TYPES]);
  const type = Object.keys(source).find((key) => types.has(key)) ?? 'none';
  const removed = Object.hasOwn(REMOVED_TYPES, type) ? REMOVED_TYPES[type] : undefined;
  const why = removed ?? (mode === 'Block' ? 'which has no block volumes' : 'which is not supported yet');
  const message = `volume "${name}" is of type ${type}, ${why}`;
  return new PodError('FailedMount', message, { podCause: { kind: 'volumeFailed', volume: name, cause: undefined } });
}
