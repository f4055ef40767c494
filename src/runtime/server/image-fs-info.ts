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
  /** What all writable layers take, as of a moment ago. */
  readonly writableUsage: (signal: AbortSignal) => Promise<TreeUsage>;
}

/** Layers and writable layers lie on one file system, and are told apart as kubelet does. */
export function imageFsInfo(deps: ImageFsInfoDeps): ImageService['imageFsInfo'] {
  const { clock, storage, layerUsage, writableUsage } = deps;
  return async (_, signal) => {
    const writable = await writableUsage(signal);
    const told = ({ bytes, inodes }: TreeUsage) =>
      FilesystemUsage.fromPartial({
        timestamp: BigInt(Math.trunc(clock.now())) * 1_000_000n,
        fsId: { mountpoint: storage },
        usedBytes: { value: BigInt(bytes) },
        inodesUsed: { value: BigInt(inodes) },
      });
    return { imageFilesystems: [told(layerUsage())], containerFilesystems: [told(writable)] };
  };
}
