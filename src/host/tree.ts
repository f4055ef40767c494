import type { FileKind } from './file-system.ts';

/**
 * Whole file trees: image layers and their copies. Paths are relative to the tree's root, without dots; the root itself is
 * the empty path. Names that are not UTF-8 are decoded by `fileNameOf`.
 */
export interface TreeMember {
  readonly path: string;
  readonly node: TreeNode;
}

export type TreeNode = TreeAttributes & TreeContent;

export interface TreeAttributes {
  /** Permission bits, setuid, setgid and sticky included (0o7777). */
  readonly mode: number;
  readonly uid: number;
  readonly gid: number;
  readonly modifiedMs: number;
  /** Extended attributes by their whole names: `security.capability`. */
  readonly xattrs?: ReadonlyMap<string, Uint8Array>;
}

export type TreeContent = OwnContent | { readonly kind: 'hardLink'; readonly target: string };

/** The content of a member that is not a hard link. */
export type OwnContent =
  | {
      readonly kind: 'file';
      readonly size: number;
      /** The whole content; with `extents`, only theirs. */
      readonly content: AsyncIterable<Uint8Array>;
      /** The ranges that have content, in ascending order; the rest are holes. */
      readonly extents?: readonly FileExtent[];
    }
  | { readonly kind: 'directory' }
  | { readonly kind: 'symlink'; readonly target: string }
  | { readonly kind: 'characterDevice' | 'blockDevice'; readonly major: number; readonly minor: number }
  | { readonly kind: 'fifo' };

export interface FileExtent {
  readonly offset: number;
  readonly length: number;
}

/**
 * Fills a folder that acts as the root of its members: links in paths, absolute or with dots, are resolved inside it.
 * Nothing outside is ever read, changed or removed. One writer per folder. Rejects with `FileSystemError`s.
 */
export interface TreeWriter extends AsyncDisposable {
  /**
   * Writes a member and replaces what exists at the path; an existing folder keeps its content. Missing parents are created
   * (0755, owned by root). A file's content is read to its end. Extended attributes that the filesystem does not support are
   * skipped.
   */
  put(path: string, node: TreeNode): Promise<void>;
  /** Removes what is at the path with everything below it; for the root, its content. A missing path is not an error. */
  remove(path: string): Promise<void>;
  /** The kind of the file at the path, without following a link; `undefined`: it does not exist. */
  kind(path: string): Promise<FileKind | undefined>;
  /** Sets one attribute of an existing file; unlike `put`, rejects when the filesystem does not support it. */
  setXattr(path: string, name: string, value: Uint8Array): Promise<void>;
  /** Folders that were created as missing parents and not put since. */
  readonly implied: ReadonlySet<string>;
  /** Sets the times of folders, which adding files has changed. With `toDisk` the tree is synced to disk. */
  finish(options?: { readonly toDisk?: boolean }): Promise<void>;
}

export interface TreeWriterOptions {
  /**
   * Called before an existing file or folder at `path` is replaced by a member, while its content still exists. Called once
   * for a folder with all its content.
   */
  readonly onReplace?: (path: string, kind: FileKind) => Promise<void>;
}

/** Reads files of a folder that acts as their root: links in paths are resolved inside it. */
export interface TreeFiles extends AsyncDisposable {
  /** Yields the bytes of the extent, fewer where the file ends. Rejects as `FileSystem.openFile` does. */
  read(path: string, extent: FileExtent, signal: AbortSignal): AsyncIterable<Uint8Array>;
}

/** The disk usage of a tree; a file with several links counts once. */
export interface TreeUsage {
  readonly bytes: number;
  readonly inodes: number;
}
