import { ImageStatusRequest } from '../../cri/generated/runtime-v1.ts';
import type { ImageService } from '../../cri/services.ts';
import type { Clock } from '../../host/clock.ts';
import type { FileSystem } from '../../host/file-system.ts';
import type { Processes } from '../../host/processes.ts';
import { goArchitecture } from '../go-architecture.ts';
import { type ImageContent, type OciArchive, ociArchive } from './oci-archive.ts';

/** Holds a sandbox's namespaces open. */
export const PAUSE_IMAGE = 'localhost/nodelet/pause:1';
/** A shell and the usual tools, for manifests to use. */
export const BUSYBOX_IMAGE = 'localhost/nodelet/busybox:1';

const CATATONIT = '/usr/bin/catatonit';
const BUSYBOX = '/bin/busybox';

const IMPORT_MS = 60_000;
/** containerd tells its CRI side of an import by an event that we do not see. */
const ASK_AGAIN_MS = 5;

export interface LocalImageParts {
  readonly clock: Clock;
  readonly fs: FileSystem;
  readonly processes: Processes;
  readonly images: ImageService;
  /** The path of containerd's socket. */
  readonly socketPath: string;
}

/** Makes the images of this machine's own programs known to the runtime; those that it has already cost no import. */
export async function ensureLocalImages(parts: LocalImageParts, signal: AbortSignal): Promise<void> {
  const limited = AbortSignal.any([signal, parts.clock.deadline(IMPORT_MS)]);
  const contents = [await pauseContent(parts), await busyboxContent(parts, limited)];
  for (const content of contents) await ensureImage(parts, content, limited);
}

async function ensureImage(parts: LocalImageParts, content: ImageContent, signal: AbortSignal): Promise<void> {
  const archive = ociArchive(content);
  if ((await imageId(parts, content.reference, signal)) === archive.id) return;
  await importArchive(parts, archive, signal);
  while ((await imageId(parts, content.reference, signal)) !== archive.id) {
    await parts.clock.sleep(ASK_AGAIN_MS, signal);
  }
}

async function imageId({ images }: LocalImageParts, image: string, signal: AbortSignal): Promise<string | undefined> {
  const answer = await images.imageStatus(ImageStatusRequest.create({ image: { image } }), signal);
  return answer.image?.id;
}

async function importArchive(
  { processes, socketPath }: LocalImageParts,
  { bytes }: OciArchive,
  signal: AbortSignal,
): Promise<void> {
  // Without unpacking: the first container does that, with the snapshotter of the runtime.
  const args = ['--address', socketPath, '--namespace', 'k8s.io', 'images', 'import', '--no-unpack', '-'];
  const { exitCode, stderr } = await processes.run({ program: 'ctr', args, input: bytes }, signal);
  if (exitCode !== 0) throw new Error(`cannot import an image: ${new TextDecoder().decode(stderr).trim()}`);
}

async function pauseContent({ fs }: LocalImageParts): Promise<ImageContent> {
  return {
    reference: PAUSE_IMAGE,
    architecture: goArchitecture(),
    files: [{ kind: 'file', path: 'catatonit', mode: 0o755, data: await fs.readFile(CATATONIT) }],
    config: { Entrypoint: ['/catatonit', '-P'] },
  };
}

/** For a runtime that takes archives itself. */
export async function busyboxArchive(
  parts: Pick<LocalImageParts, 'fs' | 'processes'>,
  signal: AbortSignal,
): Promise<OciArchive> {
  return ociArchive(await busyboxContent(parts, signal));
}

async function busyboxContent(
  { fs, processes }: Pick<LocalImageParts, 'fs' | 'processes'>,
  signal: AbortSignal,
): Promise<ImageContent> {
  const { stdout } = await processes.run({ program: BUSYBOX, args: ['--list'] }, signal);
  const applets = new TextDecoder().decode(stdout).trim().split('\n');
  return busyboxImage(goArchitecture(), await fs.readFile(BUSYBOX), applets);
}

/** Debian's static busybox as an image: the program, a link to it for each of its applets, and two users. */
export function busyboxImage(architecture: string, program: Uint8Array, applets: readonly string[]): ImageContent {
  const text = (content: string): Uint8Array => new TextEncoder().encode(content);
  const passwd = 'root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/false\n';
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
