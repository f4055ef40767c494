import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { BUSYBOX_IMAGE, busyboxArchive } from '../../src/app/images/local-images.ts';
import { type OciArchive, ociArchive } from '../../src/app/images/oci-archive.ts';
import { goArchitecture } from '../../src/base/go/go-architecture.ts';
import { ImageStatusRequest } from '../../src/cri/generated/runtime-v1.ts';
import type { ImageService } from '../../src/cri/services.ts';
import { createLinuxHost } from '../../src/host/linux/linux-host.ts';

/** The pause image of containerd's sandboxes. */
export const PAUSE_IMAGE = 'localhost/nodelet/pause:1';
const CATATONIT = '/usr/bin/catatonit';
/** containerd notifies its CRI plugin of an import by an event that tests cannot see. */
const ASK_AGAIN_MS = 5;

/** Imports the images of this machine's own programs into a containerd. */
export async function importLocalImages(images: ImageService, socketPath: string, signal: AbortSignal): Promise<void> {
  const archives = {
    [PAUSE_IMAGE]: pauseArchive(),
    [BUSYBOX_IMAGE]: await busyboxArchive(createLinuxHost(process.env), signal),
  };
  for (const [image, archive] of Object.entries(archives)) {
    importArchive(socketPath, archive);
    const isKnown = async (): Promise<boolean> =>
      (await images.imageStatus(ImageStatusRequest.create({ image: { image } }), signal)).image?.id === archive.id;
    while (!(await isKnown())) await delay(ASK_AGAIN_MS, undefined, { signal });
  }
}

function importArchive(socketPath: string, { bytes }: OciArchive): void {
  // Without unpacking: the first container does that, with the snapshotter of the runtime.
  const args = ['--address', socketPath, '--namespace', 'k8s.io', 'images', 'import', '--no-unpack', '-'];
  execFileSync('ctr', args, { input: bytes });
}

function pauseArchive(): OciArchive {
  return ociArchive({
    reference: PAUSE_IMAGE,
    architecture: goArchitecture(),
    files: [{ kind: 'file', path: 'catatonit', mode: 0o755, data: readFileSync(CATATONIT) }],
    config: { Entrypoint: ['/catatonit', '-P'] },
  });
}
