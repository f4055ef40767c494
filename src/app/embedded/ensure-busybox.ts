import { ImageStatusRequest } from '../../cri/generated/runtime-v1.ts';
import type { Cri } from '../../cri/services.ts';
import type { FileSystem } from '../../host/file-system.ts';
import type { Processes } from '../../host/processes.ts';
import { BUSYBOX_IMAGE, busyboxArchive } from '../images/local-images.ts';
import type { ImageOperations } from './image-operations.ts';

export interface BusyboxParts {
  readonly fs: FileSystem;
  readonly processes: Processes;
  readonly cri: Cri;
  readonly load: ImageOperations['load'];
  /** For the archive, on its way. */
  readonly folder: string;
}

/** Gives the runtime the image of this machine's own busybox, unless it has that very one. */
export async function ensureBusybox(parts: BusyboxParts, signal: AbortSignal): Promise<void> {
  const { fs, cri, load, folder } = parts;
  const { id, bytes } = await busyboxArchive(parts, signal);
  const answer = await cri.images.imageStatus(ImageStatusRequest.create({ image: { image: BUSYBOX_IMAGE } }), signal);
  if (answer.image?.id === id) return;
  const path = `${folder}/busybox.tar`;
  await fs.writeFile(path, bytes, { mode: 0o600 });
  try {
    await load({ path }, signal);
  } finally {
    await fs.remove(path);
  }
}
