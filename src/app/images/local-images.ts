import { goArchitecture } from '../../base/go/go-architecture.ts';
import { ImageStatusRequest } from '../../cri/generated/runtime-v1.ts';
import type { Cri } from '../../cri/services.ts';
import type { FileSystem } from '../../host/file-system.ts';
import type { Processes } from '../../host/processes.ts';
import type { ImageLoader } from '../../runtime/images/image-loader.ts';
import { type ImageContent, type OciArchive, ociArchive } from './oci-archive.ts';

/** A shell and common tools, for manifests. */
export const BUSYBOX_IMAGE = 'localhost/nodelet/busybox:1';

const BUSYBOX = '/bin/busybox';

export interface LocalImageParts {
  readonly fs: FileSystem;
  readonly processes: Processes;
}

/** Packs this machine's busybox into an image. */
export async function busyboxArchive({ fs, processes }: LocalImageParts, signal: AbortSignal): Promise<OciArchive> {
  const { stdout } = await processes.run({ program: BUSYBOX, args: ['--list'] }, signal);
  const applets = new TextDecoder().decode(stdout).trim().split('\n');
  return ociArchive(busyboxImage(goArchitecture(), await fs.readFile(BUSYBOX), applets));
}

export interface BusyboxParts {
  readonly fs: FileSystem;
  readonly processes: Processes;
  readonly cri: Cri;
  readonly loader: Pick<ImageLoader, 'loadArchive'>;
}

/** Imports the image of this machine's busybox, unless the runtime has the same version. */
export async function ensureBusybox(parts: BusyboxParts, signal: AbortSignal): Promise<void> {
  const { cri, loader } = parts;
  const { id, bytes } = await busyboxArchive(parts, signal);
  const answer = await cri.images.imageStatus(ImageStatusRequest.create({ image: { image: BUSYBOX_IMAGE } }), signal);
  if (answer.image?.id === id) return;
  await loader.loadArchive(bytes, {}, signal);
}

/** Debian's static busybox as an image: the program, a link to it for each of its applets, and two users. */
export function busyboxImage(architecture: string, program: Uint8Array, applets: readonly string[]): ImageContent {
  const text = (content: string): Uint8Array => new TextEncoder().encode(content);
  const passwd = 'root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/false\n'; // words: quoted
  return {
    reference: BUSYBOX_IMAGE,
    architecture,
    files: [
      { kind: 'file', path: 'bin/busybox', mode: 0o755, data: program },
      ...applets
        .filter((applet) => applet !== 'busybox')
        .map((applet) => ({ kind: 'link', path: `bin/${applet}`, target: 'busybox' }) as const),
      { kind: 'file', path: 'etc/passwd', mode: 0o644, data: text(passwd) },
      { kind: 'file', path: 'etc/group', mode: 0o644, data: text('root:x:0:\nnogroup:x:65534:\n') },
      { kind: 'directory', path: 'root', mode: 0o700 },
      { kind: 'directory', path: 'tmp', mode: 0o1777 },
    ],
    config: { Cmd: ['sh'], Env: ['PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'] },
  };
}
