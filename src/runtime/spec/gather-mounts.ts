import { CriError } from '../../cri/cri-error.ts';
import { invalidField } from '../../cri/field-error.ts';
import { type Mount, MountPropagation } from '../../cri/generated/runtime-v1.ts';
import { IMAGE_VOLUME_MOUNT_FAILED } from '../../cri/image-volume-error.ts';
import { type FileSystem, FileSystemError } from '../../host/file-system.ts';
import { resolveInRoot } from './resolve-in-root.ts';
import type { MountSource } from './spec-facts.ts';
import type { SpecRequest } from './spec-request.ts';

/** Creates missing host paths as directories, as every runtime does and kubelet relies on. */
export async function gatherMountSources(
  request: SpecRequest,
  fs: FileSystem,
): Promise<ReadonlyMap<number, MountSource>> {
  const { mounts } = request.container;
  const isPrivate = ({ propagation }: Mount): boolean => propagation === MountPropagation.PROPAGATION_PRIVATE;
  const mountinfo = mounts.every(isPrivate) ? '' : await fs.readText('/proc/self/mountinfo');
  const found = mounts.map(async (mount, index): Promise<[number, MountSource]> => {
    const mapped = request.mappedSources?.get(index);
    if (mapped !== undefined && isPrivate(mount)) return [index, { path: mapped, mapped: true }];
    const path = await sourcePath(mount, index, request, fs);
    const source = mapped === undefined ? { path } : { path: mapped, mapped: true };
    if (isPrivate(mount)) return [index, source];
    // The propagation of the original path, also for an idmapped bind, which is a slave of it.
    return [index, { ...source, propagation: mountPropagation(await fs.realPath(path), mountinfo) }];
  });
  return new Map(await Promise.all(found));
}

function sourcePath(mount: Mount, index: number, request: SpecRequest, fs: FileSystem): Promise<string> {
  return mount.image ? imagePath(mount, index, request, fs) : ensureHostPath(mount.hostPath, index, fs);
}

/** Resolves links; creates the directory if it is missing. */
export async function ensureHostPath(path: string, index: number, fs: FileSystem): Promise<string> {
  try {
    return await fs.realPath(path).catch(async (error: unknown) => {
      if (!(error instanceof FileSystemError) || error.code !== 'ENOENT') throw error;
      await fs.makeDirectory(path, 0o755);
      return fs.realPath(path);
    });
  } catch (error) {
    throw asFieldError(`mounts[${index}].host_path`, error);
  }
}

async function imagePath(
  { imageSubPath }: Mount,
  index: number,
  { imageVolumes }: SpecRequest,
  fs: FileSystem,
): Promise<string> {
  const root = imageVolumes.get(index);
  if (root === undefined) throw new CriError('Internal', `mounts[${index}].image: not mounted`);
  if (imageSubPath === '') return root;
  const field = `mounts[${index}].image_sub_path`;
  const reason = IMAGE_VOLUME_MOUNT_FAILED;
  if (imageSubPath.startsWith('/') || imageSubPath.split('/').includes('..')) {
    throw invalidField(field, `${JSON.stringify(imageSubPath)} must be relative and without ".."`, { reason });
  }
  try {
    const path = `${root}/${await resolveInRoot(fs, root, imageSubPath)}`;
    if ((await fs.lstat(path)) !== undefined) return path;
  } catch (error) {
    throw asFieldError(field, error, reason);
  }
  throw invalidField(field, `the image has no ${JSON.stringify(imageSubPath)}`, { reason });
}

function asFieldError(field: string, error: unknown, reason?: string): unknown {
  return error instanceof FileSystemError ? invalidField(field, error.message, { cause: error, reason }) : error;
}

/** Returns the propagation of the mount that contains `path`, from the text of /proc/self/mountinfo. */
export function mountPropagation(path: string, mountinfo: string): NonNullable<MountSource['propagation']> {
  let holder = { target: '', options: '' };
  for (const line of mountinfo.split('\n')) {
    const [fields = ''] = line.split(' - ');
    const [, , , , escaped, , ...options] = fields.split(' ');
    if (escaped === undefined) continue;
    const target = unescaped(escaped);
    // Of two mounts at one path the later covers the earlier.
    if (isBelow(path, target) && target.length >= holder.target.length) holder = { target, options: options.join(' ') };
  }
  if (/(^| )shared:/.test(holder.options)) return 'shared';
  return /(^| )master:/.test(holder.options) ? 'slave' : 'private';
}

function isBelow(path: string, folder: string): boolean {
  return path === folder || path.startsWith(folder.endsWith('/') ? folder : `${folder}/`);
}

/** The kernel writes blanks and similar characters as `\040`. */
function unescaped(text: string): string {
  return text.replace(/\\([0-7]{3})/g, (_, octal: string) => String.fromCharCode(Number.parseInt(octal, 8)));
}
