import type { FileKind } from './file-system.ts';

/**
 * Whole trees of files: layers of images, and copies of them. Paths are relative to the tree's root, without dots; the
 * root itself is the empty path. Names that are no UTF-8 are told as by `fileNameOf`.
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

/** What a member is that does not share another's. */
export type OwnContent =
  | {
      readonly kind: 'file';
      readonly size: number;
      /** All of it, one after the other; or, with `extents`, only what is in them. */
      readonly content: AsyncIterable<Uint8Array>;
      /** Where the content belongs, in ascending order; what is between is a hole. */
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
 * Fills a folder, which is for its members what `/` is for everybody: a link on the way, absolute or with dots, leads to a
 * place inside. Nothing outside is ever read, changed or removed. One writer per folder. Failures are `FileSystemError`s.
 */
export interface TreeWriter extends AsyncDisposable {
  /**
   * Puts a member in the place of whatever is there; a folder keeps what it holds. Missing folders on the way are made
   * (0755, of root). The content of a file is read to its end, and written as far as it goes. A file system without
   * extended attributes, or without this one, goes without.
   */
  put(path: string, node: TreeNode): Promise<void>;
  /** Whatever is there, with all below it; of the root, all that is in it. Nothing there is fine. */
  remove(path: string): Promise<void>;
  /** Of what is there, a link itself and not where it leads; `undefined`: nothing. */
  kind(path: string): Promise<FileKind | undefined>;
  /** Sets one attribute of what is there; unlike `put`, fails when it cannot. */
  setXattr(path: string, name: string, value: Uint8Array): Promise<void>;
  /** Folders that were made on the way and not put since. */
  readonly implied: ReadonlySet<string>;
  /** Gives folders their times, which every file put into them changed. With `toDisk` all of it survives a loss of power. */
  finish(options?: { readonly toDisk?: boolean }): Promise<void>;
}

export interface TreeWriterOptions {
  /**
   * Something is about to go because a member comes in its place, which is of the path that is told. Its content is still
   * there. A folder that gives way goes with all that is in it, which is told once.
   */
  readonly onReplace?: (path: string, kind: FileKind) => Promise<void>;
}

/** Reads files of a folder that is its own root, as for its writer: links on the way lead to places inside. */
export interface TreeFiles extends AsyncDisposable {
  /** So many bytes from `offset` on, fewer where the file ends. Fails as `FileSystem.openFile` does. */
  read(path: string, extent: FileExtent, signal: AbortSignal): AsyncIterable<Uint8Array>;
}

/** What a tree takes on its disk; a file with several names counts once. */
export interface TreeUsage {
  readonly bytes: number;
  readonly inodes: number;
}
