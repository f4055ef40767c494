import type { TreeAttributes, TreeNode, TreeWriter } from '../../host/tree.ts';
import { insidePath } from '../images/archive/inside-path.ts';
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

interface Marked {
  readonly removed: Set<string>;
  readonly opaque: Set<string>;
}

/** Puts the members of a layer's archive into a new folder. Throws a `TarError` for what no honest layer contains. */
export async function unpackLayer(
  members: AsyncIterable<{ readonly name: string; readonly node: TreeNode }>,
  writer: TreeWriter,
  form: MarkForm,
  signal: AbortSignal,
): Promise<UnpackedLayer> {
  const marked: Marked = { removed: new Set(), opaque: new Set() };
  const told = new Set<string>();
  for await (const { name, node } of members) {
    signal.throwIfAborted();
    const path = insidePath(name);
    if (mark(path, marked)) continue;
    if (path === '') told.add(path);
    await writer.put(path, cleaned(name, node));
  }
  await settleMarks(writer, form, marked);
  const implied = [...(told.has('') ? [] : ['']), ...writer.implied];
  return { implied, removed: [...marked.removed], opaque: [...marked.opaque] };
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
  if (node.kind === 'hardLink') return { ...node, target: insidePath(node.target) };
  if (node.kind === 'symlink' && (node.target === '' || node.target.includes('\0'))) {
    throw new TarError(`${name}: a link to ${JSON.stringify(node.target)}`);
  }
  if (!node.xattrs) return node;
  return { ...node, xattrs: new Map([...node.xattrs].filter(([key]) => !OVERLAY_XATTR.test(key))) };
}

/**
 * Marks speak of lower layers only, wherever they stand in the archive. Where this layer has something of that name
 * itself, only a folder still needs a mark, for it would be merged with the hidden one.
 */
async function settleMarks(writer: TreeWriter, form: MarkForm, { removed, opaque }: Marked): Promise<void> {
  for (const path of removed) {
    const own = await writer.kind(path);
    if (own === 'directory') opaque.add(path);
    if (own !== undefined) removed.delete(path);
  }
  if (form.kind === 'list') return;
  for (const path of removed) {
    await writer.put(path, { ...FOLDER, mode: 0, kind: 'characterDevice', major: 0, minor: 0 });
  }
  for (const path of opaque) {
    if ((await writer.kind(path)) !== 'directory') await writer.put(path, FOLDER);
    await writer.setXattr(path, form.opaqueXattr, new TextEncoder().encode('y'));
  }
}
