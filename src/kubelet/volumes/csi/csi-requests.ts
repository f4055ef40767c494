import type { CsiNodeCapability } from '../../../plugins/csi/csi-drivers.ts';
import type {
  NodeExpandVolumeRequest,
  NodePublishVolumeRequest,
  NodeStageVolumeRequest,
  VolumeCapability,
} from '../../../plugins/generated/csi-v1.ts';
import { VolumeCapability_AccessMode_Mode as Mode } from '../../../plugins/generated/csi-v1.ts';
import type { CsiVolume, PersistentCsiVolume } from './csi-volume.ts';

export type Capabilities = ReadonlySet<CsiNodeCapability>;

/** What a call needs beyond the volume itself. */
export interface CallContext {
  readonly capabilities: Capabilities;
  readonly mode: 'Filesystem' | 'Block';
  /** Of the VolumeAttachment. */
  readonly publishContext: Readonly<Record<string, string>>;
  readonly secrets: Readonly<Record<string, string>>;
  /** Of the pod. Only a driver with VOLUME_MOUNT_GROUP gets it. */
  readonly fsGroup: number | undefined;
}

export function stageRequest(
  volume: PersistentCsiVolume,
  stagingPath: string,
  context: CallContext,
): NodeStageVolumeRequest {
  return {
    volumeId: volume.handle,
    publishContext: { ...context.publishContext },
    stagingTargetPath: stagingPath,
    volumeCapability: volumeCapability(volume, context),
    secrets: { ...context.secrets },
    volumeContext: { ...volume.attributes },
  };
}

export function publishRequest(
  volume: CsiVolume,
  paths: { readonly staging: string; readonly target: string },
  volumeContext: Readonly<Record<string, string>>,
  context: CallContext,
): NodePublishVolumeRequest {
  return {
    volumeId: volume.handle,
    publishContext: { ...context.publishContext },
    stagingTargetPath: paths.staging,
    targetPath: paths.target,
    volumeCapability: volumeCapability(volume, context),
    readonly: volume.readOnly,
    secrets: { ...context.secrets },
    volumeContext: { ...volumeContext },
  };
}

export function expandRequest(
  volume: PersistentCsiVolume,
  paths: { readonly staging: string; readonly volume: string },
  requiredBytes: bigint,
  context: Pick<CallContext, 'capabilities' | 'mode' | 'secrets'>,
): NodeExpandVolumeRequest {
  return {
    volumeId: volume.handle,
    volumePath: paths.volume,
    capacityRange: { requiredBytes, limitBytes: 0n },
    stagingTargetPath: paths.staging,
    volumeCapability: volumeCapability(volume, { ...context, fsGroup: undefined }),
    secrets: { ...context.secrets },
  };
}

function volumeCapability(
  volume: CsiVolume,
  { capabilities, mode, fsGroup }: Pick<CallContext, 'capabilities' | 'mode' | 'fsGroup'>,
): VolumeCapability {
  const accessMode = { mode: accessModeOf(volume, capabilities) };
  if (mode === 'Block') return { block: {}, accessMode };
  const group = capabilities.has('VOLUME_MOUNT_GROUP') ? fsGroup : undefined;
  const mount = {
    fsType: volume.fsType,
    mountFlags: volume.lifecycle === 'Persistent' ? [...volume.mountOptions] : [],
    volumeMountGroup: group === undefined ? '' : String(group),
  };
  return { mount, accessMode };
}

/** The first access mode of the volume decides, as in kubelet. */
function accessModeOf(volume: CsiVolume, capabilities: Capabilities): Mode {
  const wanted = (volume.lifecycle === 'Persistent' ? volume.accessModes?.[0] : undefined) ?? 'ReadWriteOnce';
  const knowsSingleWriter = capabilities.has('SINGLE_NODE_MULTI_WRITER');
  switch (wanted) {
    case 'ReadWriteOnce':
      return knowsSingleWriter ? Mode.SINGLE_NODE_MULTI_WRITER : Mode.SINGLE_NODE_WRITER;
    case 'ReadWriteOncePod':
      return knowsSingleWriter ? Mode.SINGLE_NODE_SINGLE_WRITER : Mode.SINGLE_NODE_WRITER;
    case 'ReadOnlyMany':
      return Mode.MULTI_NODE_READER_ONLY;
    case 'ReadWriteMany':
      return Mode.MULTI_NODE_MULTI_WRITER;
    default:
      return Mode.UNKNOWN;
  }
}
