import { fileNameLength } from '../../host/file-name.ts';
import type { TreeAttributes, TreeNode, TreeWriter } from '../../host/tree.ts';
import { cleanArchivePath, MAX_PATH_BYTES } from '../images/archive/archive-path.ts';
import type { TarMember } from '../images/archive/read-tar.ts';
import { TarError } from '../images/archive/tar-header.ts';

/**
 * How a layer's directory represents whiteouts. `overlay`: in overlayfs's format, with device nodes and an attribute.
 * `list`: not in the directory at all.
 */
export type WhiteoutFormat = { readonly kind: 'overlay'; readonly opaqueXattr: string } | { readonly kind: 'list' };

/** The paths of lower layers that a layer hides. */
export interface Whiteouts {
  /** Removed paths. */
  readonly removed: readonly string[];
  /** Directories that hide the contents of lower layers. */
  readonly opaque: readonly string[];
}

export interface UnpackedLayer extends Whiteouts {
  /** Directories that the archive implies but does not contain: they get the attributes of the lower layer's. */
  readonly implied: readonly string[];
}

/** https://github.com/opencontainers/image-spec/blob/main/layer.md#whiteouts */
const WHITEOUT = '.wh.';
/** Prefix of names that only aufs uses. */
const AUFS = '.wh..wh.';
const OPAQUE = '.wh..wh..opq';
/** These control overlayfs itself: a layer could point anywhere with them. */
const OVERLAY_XATTR = /^(trusted|user)\.overlay\./;
const FOLDER: TreeAttributes & { readonly kind: 'directory' } = {
  kind: 'directory',
  mode: 0o755,
  uid: 0,
  gid: 0,
  modifiedMs: 0,
};

/** More than any valid layer has. */
const MAX_MEMBERS = 2_000_000;
/**
 * Limit for the paths of directories and whiteouts, which are held in memory until the end, and the overhead of each.
 */
const MAX_PATHS_BYTES = 64 * 1024 * 1024;
const PATH_OVERHEAD = 100;

/** Called for each member before it is written, with its path; `undefined` for a whiteout, which has none. */
export type MemberCallback = (member: TarMember, path: string | undefined) => Promise<void> | undefined;

export interface UnpackOptions {
  readonly format: WhiteoutFormat;
  readonly onMember?: MemberCallback;
  /** Called before at most this many files and directories are created. */
  readonly reserveInodes?: (inodes: number) => Promise<void> | undefined;
  readonly maxMembers?: number;
  readonly maxPathBytes?: number;
}

interface WhiteoutSets {
  readonly removed: Set<string>;
  readonly opaque: Set<string>;
}

/** Unpacks the members of a layer's archive into a new directory. Throws `TarError` for an invalid layer. */
export async function unpackLayer(
  members: AsyncIterable<TarMember>,
  writer: TreeWriter,
  options: UnpackOptions,
  signal: AbortSignal,
): Promise<UnpackedLayer> {
  const { format, onMember, maxMembers = MAX_MEMBERS } = options;
  const whiteouts: WhiteoutSets = { removed: new Set(), opaque: new Set() };
  const folder = new BoundedFolder(writer, options, signal);
  let [hasRoot, count] = [false, 0];
  for await (const member of members) {
    if (++count > maxMembers) throw new TarError(`the layer has more than ${maxMembers} files`);
    const path = cleanArchivePath(member.name);
    const isWhiteout = recordWhiteout(path, whiteouts);
    const watched: Promise<void> | undefined = onMember?.(member, isWhiteout ? undefined : path);
    if (watched !== undefined) await watched;
    if (isWhiteout) folder.remember(path, 1);
    else await folder.put(path, sanitize(member.name, member.node));
    if (path === '') hasRoot = true;
  }
  await applyWhiteouts(folder, format, whiteouts);
  const implied = [...(hasRoot ? [] : ['']), ...writer.implied];
  return { implied, removed: [...whiteouts.removed], opaque: [...whiteouts.opaque] };
}

/** Writes into a layer's directory within the limits of disk and memory. */
class BoundedFolder {
  readonly writer: TreeWriter;
  readonly #options: UnpackOptions;
  readonly #signal: AbortSignal;
  #remembered = 0;

  constructor(writer: TreeWriter, options: UnpackOptions, signal: AbortSignal) {
    this.writer = writer;
    this.#options = options;
    this.#signal = signal;
  }

  async put(path: string, node: TreeNode): Promise<void> {
    this.#signal.throwIfAborted();
    const hasRoom: Promise<void> | undefined = this.#options.reserveInodes?.(path.split('/').length);
    if (hasRoom !== undefined) await hasRoom;
    const implied = this.writer.implied.size;
    await this.writer.put(path, node);
    const made = Math.max(0, this.writer.implied.size - implied);
    if (made > 0 || node.kind === 'directory') this.remember(path, made + 1);
  }

  remember(path: string, times: number): void {
    this.#remembered += times * (path.length + PATH_OVERHEAD);
    if (this.#remembered <= (this.#options.maxPathBytes ?? MAX_PATHS_BYTES)) return;
    throw new TarError('the layer has too many directories and whiteouts');
  }
}

/** Records a whiteout; returns `false` if the path is a regular member. */
function recordWhiteout(path: string, { removed, opaque }: WhiteoutSets): boolean {
  const slash = path.lastIndexOf('/');
  const name = path.slice(slash + 1);
  if (!name.startsWith(WHITEOUT)) return false;
  const folder = path.slice(0, Math.max(0, slash));
  if (name === OPAQUE) opaque.add(folder);
  if (name.startsWith(AUFS)) return true;
  const hidden = name.slice(WHITEOUT.length);
  if (hidden === '' || hidden === '.' || hidden === '..') throw new TarError(`${path}: invalid whiteout`);
  removed.add(folder === '' ? hidden : `${folder}/${hidden}`);
  return true;
}

function sanitize(name: string, node: TreeNode): TreeNode {
  if (node.kind === 'hardLink') return { ...node, target: cleanArchivePath(node.target) };
  if (node.kind === 'symlink' && !isLinkTarget(node.target)) {
    throw new TarError(`${name}: a link to ${JSON.stringify(node.target.slice(0, MAX_PATH_BYTES))}`);
  }
  if (!node.xattrs) return node;
  return { ...node, xattrs: new Map([...node.xattrs].filter(([key]) => !OVERLAY_XATTR.test(key))) };
}

function isLinkTarget(target: string): boolean {
  return target !== '' && !target.includes('\0') && fileNameLength(target) <= MAX_PATH_BYTES;
}

/**
 * Applies whiteouts to lower layers only, wherever they are in the archive. If this layer has a member of the same
 * name, only a directory needs a whiteout, because it would be merged with the hidden one.
 */
async function applyWhiteouts(
  folder: BoundedFolder,
  format: WhiteoutFormat,
  { removed, opaque }: WhiteoutSets,
): Promise<void> {
  const { writer } = folder;
  for (const path of removed) {
    const own = await writer.kind(path);
    if (own === 'directory') opaque.add(path);
    if (own !== undefined) removed.delete(path);
  }
  if (format.kind === 'list') return;
  const isBelowRemoved = (path: string) => parentPaths(path).some((above) => removed.has(above));
  for (const path of removed) {
    if (isBelowRemoved(path)) continue;
    await folder.put(path, { ...FOLDER, mode: 0, kind: 'characterDevice', major: 0, minor: 0 });
  }
  for (const path of opaque) {
    if (isBelowRemoved(path)) continue;
    if ((await writer.kind(path)) !== 'directory') await folder.put(path, FOLDER);
    await writer.setXattr(path, format.opaqueXattr, new TextEncoder().encode('y'));
  }
}

/** Returns `a`, `a/b` of `a/b/c`. */
function parentPaths(path: string): readonly string[] {
  const names = path.split('/').slice(0, -1);
  return names.map((_, index) => names.slice(0, index + 1).join('/'));
}
