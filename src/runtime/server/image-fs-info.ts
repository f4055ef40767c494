import { FilesystemUsage } from '../../cri/generated/runtime-v1.ts';
import type { ImageService } from '../../cri/services.ts';
import type { Clock } from '../../host/clock.ts';
import type { TreeUsage } from '../../host/tree.ts';

export interface ImageFsInfoDeps {
  readonly clock: Clock;
  /** The folder of layers and writable layers. */
  readonly storage: string;
  /** What all layers take, as it was when they were unpacked. */
  readonly layerUsage: () => TreeUsage;
}

/** Layers and writable layers lie on one file system. Nothing is walked for it: kubelet asks often. */
export function imageFsInfo({ clock, storage, layerUsage }: ImageFsInfoDeps): ImageService['imageFsInfo'] {
  return async () => {
    const { bytes, inodes } = layerUsage();
    const usage = FilesystemUsage.fromPartial({
      timestamp: BigInt(Math.trunc(clock.now())) * 1_000_000n,
      fsId: { mountpoint: storage },
      usedBytes: { value: BigInt(bytes) },
      inodesUsed: { value: BigInt(inodes) },
    });
    return { imageFilesystems: [usage], containerFilesystems: [usage] };
  };
}
