/** The mount table of this mount namespace. System calls, never a process. */
export interface Mounts {
  /**
   * `source` and `type` as mount(2) takes them; the target must exist. Flags may be combined freely: what the kernel
   * takes only in calls of their own (a bind mount that is read-only, its propagation) is done in several, and undone
   * when a later one fails. Attributes of an `rbind` reach its topmost mount alone. Rejects with a `MountError`.
   */
  mount(request: MountRequest): Promise<void>;
  /**
   * Binds what the relative `path` leads to below `root`. Links are followed as long as they stay below (EXDEV); nobody
   * who changes the tree meanwhile can have anything else bound. The target is made, as a folder or a file; what was
   * bound there before goes, unless it is the same.
   */
  bindBeneath(root: string, path: string, target: string): Promise<void>;
  /**
   * Layers one above the other. However many there are, they fit; what their paths contain does not matter. With
   * `idMap` the lower ones show their files with mapped ids; EINVAL: the kernel or their file system cannot, or the
   * kernel can only with a `scratch`.
   */
  mountOverlay(request: OverlayRequest): Promise<void>;
  /**
   * Binds `source` where its files show mapped ids, and with it what is mounted below, unless some of that cannot be
   * mapped: then none of it. Mounts that come and go there later reach the target, never the other way round. The target
   * is made, as a folder or a file. EINVAL: the kernel or the file system cannot.
   */
  bindMapped(source: string, target: string, idMap: MountIdMap): Promise<void>;
  /** The topmost mount at `target`; nothing mounted there is fine. `lazy` detaches it even while it is in use. */
  unmount(target: string, options?: { readonly lazy?: boolean }): Promise<void>;
  /** Oldest first, as /proc/self/mountinfo lists them; targets unescaped. */
  list(): Promise<readonly MountEntry[]>;
}

export interface MountRequest {
  readonly source: string;
  readonly target: string;
  /** `tmpfs`, `overlay`, …; absent for bind mounts, remounts and changes of propagation. */
  readonly type?: string;
  readonly flags?: readonly MountFlag[];
  /** The file system's own options: `size=64m,mode=0777`. */
  readonly data?: string;
}

export interface OverlayRequest {
  readonly target: string;
  /** The uppermost first; folders of one and the same parent where an `idMap` is given. */
  readonly lower: readonly string[];
  /** Where changes go, and an empty folder beside it; absent: nothing can be changed. */
  readonly upper?: { readonly folder: string; readonly work: string };
  /** Marks are `user.overlay.*` attributes, which an unprivileged user may set. */
  readonly userXattr?: boolean;
  /** Changes never wait for the disk, and after a loss of power `work` has to be made anew. EINVAL: the kernel cannot. */
  readonly volatile?: boolean;
  readonly idMap?: MountIdMap;
  /**
   * A folder that only we can enter, for layers with mapped ids: some kernels want them mounted somewhere until overlayfs
   * has them. Who is killed meanwhile leaves that mount there.
   */
  readonly scratch?: string;
}

/** Ids on disk and how they are shown: as in a user namespace. */
export interface MountIdMap {
  readonly uids: readonly IdRange[];
  readonly gids: readonly IdRange[];
  /** A file of a user namespace with this map; absent: one is made for the occasion. */
  readonly userNamespacePath?: string;
}

export interface IdRange {
  readonly containerId: number;
  readonly hostId: number;
  readonly length: number;
}

export type MountFlag =
  | 'bind'
  | 'rbind'
  | 'remount'
  | 'readOnly'
  | 'noSuid'
  | 'noDev'
  | 'noExec'
  | 'private'
  | 'rprivate'
  | 'slave'
  | 'rslave'
  | 'shared'
  | 'rshared';

export interface MountEntry {
  readonly source: string;
  readonly target: string;
  readonly type: string;
  readonly readOnly: boolean;
}

export class MountError extends Error {
  override readonly name = 'MountError';
  readonly code: string;
  readonly target: string;

  constructor(code: string, operation: 'mount' | 'unmount', target: string, options?: ErrorOptions) {
    super(`${operation} ${target}: ${code}`, options);
    this.code = code;
    this.target = target;
  }
}
