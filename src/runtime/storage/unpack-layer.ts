import { fileNameLength } from '../../host/file-name.ts';
import type { TreeAttributes, TreeNode, TreeWriter } from '../../host/tree.ts';
import { cleanArchivePath, MAX_PATH_BYTES } from '../images/archive/archive-path.ts';
import type { TarMember } from '../images/archive/read-tar.ts';
import { TarError } from '../images/archive/tar-header.ts';

/**
 * How a layer's folder says what of lower layers is gone. `overlay`: as overlayfs reads it, whiteouts and an attribute.
 * `list`: not in the folder at all.
 */
export type MarkForm = { readonly kind: 'overlay'; readonly opaqueXattr: string } | { readonly kind: 'list' };

/** What of lower layers a layer takes away. */
export interface LayerMarks {
  /** Paths that are gone. */
  readonly removed: readonly string[];
  /** Folders that show nothing of those below. */
  readonly opaque: readonly string[];
}

export interface UnpackedLayer extends LayerMarks {
  /** Folders that the archive does not speak of: they look as in the layer below. */
  readonly implied: readonly string[];
}

/** https://github.com/opencontainers/image-spec/blob/main/layer.md#whiteouts */
const WHITEOUT = '.wh.';
/** Among names that only aufs knows what to do with. */
const AUFS = '.wh..wh.';
const OPAQUE = '.wh..wh..opq';
/** These steer overlayfs itself: a layer could point anywhere with them. */
const OVERLAY_XATTR = /^(trusted|user)\.overlay\./;
const FOLDER: TreeAttributes & { readonly kind: 'directory' } = {
  kind: 'directory',
  mode: 0o755,
  uid: 0,
  gid: 0,
  modifiedMs: 0,
};

/** As many no honest layer has. */
const MOST_MEMBERS = 2_000_000;
/** Folders and marks are remembered until the end, by their paths: so much of them, and about so much for each. */
const MOST_REMEMBERED = 64 * 1024 * 1024;
const REMEMBERED_EACH = 100;

/** Told of a member before it is put, with the path that it gets; `undefined`: it gets none, for it is a mark. */
export type UnpackWatcher = (member: TarMember, path: string | undefined) => Promise<void> | undefined;

export interface UnpackOptions {
  readonly form: MarkForm;
  readonly watch?: UnpackWatcher;
  /** Asked before so many files and folders are made, at most. */
  readonly room?: (inodes: number) => Promise<void> | undefined;
  readonly mostMembers?: number;
  readonly mostRemembered?: number;
}

interface Marked {
  readonly removed: Set<string>;
  readonly opaque: Set<string>;
}

/** Puts the members of a layer's archive into a new folder. Throws a `TarError` for what no honest layer contains. */
export async function unpackLayer(
  members: AsyncIterable<TarMember>,
  writer: TreeWriter,
  options: UnpackOptions,
  signal: AbortSignal,
): Promise<UnpackedLayer> {
  const { form, watch, mostMembers = MOST_MEMBERS } = options;
  const marked: Marked = { removed: new Set(), opaque: new Set() };
  const folder = new BoundedFolder(writer, options, signal);
  let [hasRoot, count] = [false, 0];
  for await (const member of members) {
    if (++count > mostMembers) throw new TarError(`the layer has more than ${mostMembers} files`);
    const path = cleanArchivePath(member.name);
    const isMark = mark(path, marked);
    const watched: Promise<void> | undefined = watch?.(member, isMark ? undefined : path);
    if (watched !== undefined) await watched;
    if (isMark) folder.remember(path, 1);
    else await folder.put(path, cleaned(member.name, member.node));
    if (path === '') hasRoot = true;
  }
  await settleMarks(folder, form, marked);
  const implied = [...(hasRoot ? [] : ['']), ...writer.implied];
  return { implied, removed: [...marked.removed], opaque: [...marked.opaque] };
}

/** The folder of a layer, which takes only what fits the disk and the memory. */
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
    const hasRoom: Promise<void> | undefined = this.#options.room?.(path.split('/').length);
    if (hasRoom !== undefined) await hasRoom;
    const implied = this.writer.implied.size;
    await this.writer.put(path, node);
    const made = Math.max(0, this.writer.implied.size - implied);
    if (made > 0 || node.kind === 'directory') this.remember(path, made + 1);
  }

  remember(path: string, times: number): void {
    this.#remembered += times * (path.length + REMEMBERED_EACH);
    if (this.#remembered <= (this.#options.mostRemembered ?? MOST_REMEMBERED)) return;
    throw new TarError('the layer has more folders and marks than fit the memory');
  }
}

/** Whether the name is not a file, but says something of lower layers. */
function mark(path: string, { removed, opaque }: Marked): boolean {
  const slash = path.lastIndexOf('/');
  const name = path.slice(slash + 1);
  if (!name.startsWith(WHITEOUT)) return false;
  const folder = path.slice(0, Math.max(0, slash));
  if (name === OPAQUE) opaque.add(folder);
  if (name.startsWith(AUFS)) return true;
  const hidden = name.slice(WHITEOUT.length);
  if (hidden === '' || hidden === '.' || hidden === '..') throw new TarError(`${path}: hides no file`);
  removed.add(folder === '' ? hidden : `${folder}/${hidden}`);
  return true;
}

function cleaned(name: string, node: TreeNode): TreeNode {
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
 * Marks speak of lower layers only, wherever they stand in the archive. Where this layer has something of that name
 * itself, only a folder still needs a mark, for it would be merged with the hidden one.
 */
async function settleMarks(folder: BoundedFolder, form: MarkForm, { removed, opaque }: Marked): Promise<void> {
  const { writer } = folder;
  for (const path of removed) {
    const own = await writer.kind(path);
    if (own === 'directory') opaque.add(path);
    if (own !== undefined) removed.delete(path);
  }
  if (form.kind === 'list') return;
  const isBelowRemoved = (path: string) => foldersOf(path).some((above) => removed.has(above));
  for (const path of removed) {
    if (isBelowRemoved(path)) continue;
    await folder.put(path, { ...FOLDER, mode: 0, kind: 'characterDevice', major: 0, minor: 0 });
  }
  for (const path of opaque) {
    if (isBelowRemoved(path)) continue;
    if ((await writer.kind(path)) !== 'directory') await folder.put(path, FOLDER);
    await writer.setXattr(path, form.opaqueXattr, new TextEncoder().encode('y'));
  }
}

/** `a`, `a/b` of `a/b/c` */
function foldersOf(path: string): readonly string[] {
  const names = path.split('/').slice(0, -1);
  return names.map((_, index) => names.slice(0, index + 1).join('/'));
}
