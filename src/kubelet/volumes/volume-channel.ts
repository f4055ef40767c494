import { typedChannel } from '../../base/typed-channel.ts';

/** What setting up and removing the volumes of pods did. `plugin`: `kubernetes.io/csi:ebs.csi.aws.com`. */
export type VolumeMessage =
  /** A plugin was called. */
  | {
      readonly kind: 'called';
      readonly operation: 'volume_mount' | 'volume_unmount' | 'map_volume' | 'unmap_volume';
      readonly plugin: string;
      readonly isError: boolean;
      /** The volume is of a type that was migrated to the CSI driver. */
      readonly isMigrated: boolean;
      readonly tookMs: number;
    }
  /** A volume of a pod is set up, with all that it had to wait for. */
  | {
      readonly kind: 'setUp';
      readonly operation: 'overall_volume_mount' | 'overall_volume_map';
      readonly plugin: string;
      readonly tookMs: number;
    };

export const volumeChannel = typedChannel<VolumeMessage>('nodelet.volume');
