import type { ImageService } from '../../../cri/services.ts';
import type { FileSystem } from '../../../host/file-system.ts';

/**
 * How the node's directory, the images and the writable layers of containers share file systems.
 *
 * - `single`: all on one.
 * - `dedicatedImages`: images and writable layers on one, apart from the node's directory.
 * - `split`: images apart from writable layers, which are with the node's directory.
 */
export type DiskLayout = 'single' | 'dedicatedImages' | 'split';

export interface RuntimeDisks {
  readonly layout: DiskLayout;
  readonly imageFsPath: string;
  readonly containerFsPath: string;
}

/** The file systems of the runtime. Rejects if the runtime or the file systems do not respond. */
export async function readRuntimeDisks(
  rootDir: string,
  { images, fs }: { readonly images: Pick<ImageService, 'imageFsInfo'>; readonly fs: Pick<FileSystem, 'stat'> },
  signal: AbortSignal,
): Promise<RuntimeDisks | undefined> {
  const { imageFilesystems, containerFilesystems } = await images.imageFsInfo({}, signal);
  const imageFsPath = imageFilesystems[0]?.fsId?.mountpoint;
  if (imageFsPath === undefined) return undefined;
  const containerFsPath = containerFilesystems[0]?.fsId?.mountpoint ?? imageFsPath;
  const [root, image, container] = await Promise.all(
    [rootDir, imageFsPath, containerFsPath].map(async (path) => (await fs.stat(path))?.device),
  );
  return { layout: diskLayout({ root, image, container }), imageFsPath, containerFsPath };
}

/** Devices of the directories; `undefined` for one that does not exist. */
export function diskLayout(devices: {
  readonly root: number | undefined;
  readonly image: number | undefined;
  readonly container: number | undefined;
}): DiskLayout {
  if (devices.image !== devices.container) return 'split';
  return devices.image === devices.root || devices.image === undefined ? 'single' : 'dedicatedImages';
}
