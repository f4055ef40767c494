import { ImageStatusRequest } from '../../cri/generated/runtime-v1.ts';
import type { Cri } from '../../cri/services.ts';
import type { FileSystem } from '../../host/file-system.ts';
import type { Processes } from '../../host/processes.ts';
import type { ImageLoader } from '../../runtime/images/image-loader.ts';
import { BUSYBOX_IMAGE, busyboxArchive } from '../images/local-images.ts';

export interface BusyboxParts {
  readonly fs: FileSystem;
  readonly processes: Processes;
  readonly cri: Cri;
  readonly loader: Pick<ImageLoader, 'loadArchive'>;
}

/** Gives the runtime the image of this machine's own busybox, unless it has that very one. */
export async function ensureBusybox(parts: BusyboxParts, signal: AbortSignal): Promise<void> {
  const { cri, loader } = parts;
  const { id, bytes } = await busyboxArchive(parts, signal);
  const answer = await cri.images.imageStatus(ImageStatusRequest.create({ image: { image: BUSYBOX_IMAGE } }), signal);
  if (answer.image?.id === id) return;
  await loader.loadArchive(bytes, {}, signal);
}
