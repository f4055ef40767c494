import { FilesystemUsage } from '../../cri/generated/runtime-v1.ts';
import type { ImageService } from '../../cri/services.ts';
import type { Clock } from '../../host/clock.ts';
import type { TreeUsage } from '../../host/tree.ts';

export interface ImageFsInfoDeps {
  readonly clock: Clock;
  /** The directory of layers and writable layers. */
  readonly storage: string;
  /** Usage of all layers, measured when they were unpacked. */
  readonly layerUsage: () => TreeUsage;
  /** Recent usage of all writable layers. */
  readonly writableUsage: (signal: AbortSignal) => Promise<TreeUsage>;
}

/** Layers and writable layers are on one filesystem, but are reported separately, as kubelet expects. */
export function imageFsInfo(deps: ImageFsInfoDeps): ImageService['imageFsInfo'] {
  const { clock, storage, layerUsage, writableUsage } = deps;
  return async (_, signal) => {
    const writable = await writableUsage(signal);
    const usageMessage = ({ bytes, inodes }: TreeUsage) =>
      FilesystemUsage.fromPartial({
        timestamp: BigInt(Math.trunc(clock.now())) * 1_000_000n,
        fsId: { mountpoint: storage },
        usedBytes: { value: BigInt(bytes) },
        inodesUsed: { value: BigInt(inodes) },
      });
    return { imageFilesystems: [usageMessage(layerUsage())], containerFilesystems: [usageMessage(writable)] };
  };
}
