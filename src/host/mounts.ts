/** The mount table of this mount namespace. By system calls, never by a mount(8) process. */
export interface Mounts {
  /**
   * `source` and `type` are those of mount(2); the target must exist. Flags may be combined freely: what the kernel accepts
   * only in separate calls (a read-only bind mount, propagation) is done in several, and undone when a later one fails.
   * A bind mount also has the attributes of its source. Attributes of an `rbind` apply to its topmost mount only. Rejects with a `MountError`.
   */
  mount(request: MountRequest): Promise<void>;
  /**
   * Binds the relative `path` below `root`. Links that lead out of `root` fail with EXDEV, also while other processes
   * change the tree. The target is created as a folder or a file; a different earlier bind mount there is replaced.
   */
  bindBeneath(root: string, path: string, target: string): Promise<void>;
  /**
   * Mounts layers with overlayfs, any number of them and with any characters in their paths. With `idMap` the lower layers
   * show their files with mapped ids; EINVAL: the kernel or their filesystem does not support it, or the kernel needs a
   * `scratch`.
   */
  mountOverlay(request: OverlayRequest): Promise<void>;
  /**
   * Binds `source` with mapped ids, together with the mounts below it unless one of these cannot be mapped: then without
   * all of them. Later mounts and unmounts at the source propagate to the target, never the other way round. The target is
   * created as a folder or a file. EINVAL: the kernel or the filesystem does not support it.
   */
  bindMapped(source: string, target: string, idMap: MountIdMap): Promise<void>;
  /** Unmounts the topmost mount at `target`; none is not an error. `lazy` detaches it even while it is in use. */
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
  /** The filesystem's own options: `size=64m,mode=0777`. */
  readonly data?: string;
}

export interface OverlayRequest {
  readonly target: string;
  /** The uppermost first; with an `idMap` all must have the same parent folder. */
  readonly lower: readonly string[];
  /** The folder for changes, and an empty work folder on the same filesystem; absent: the mount is read-only. */
  readonly upper?: { readonly folder: string; readonly work: string };
  /** overlayfs uses `user.overlay.*` attributes, which an unprivileged user may set. */
  readonly userXattr?: boolean;
  /** Changes are never synced, and after a power loss `work` must be created again. EINVAL: the kernel does not support it. */
  readonly volatile?: boolean;
  readonly idMap?: MountIdMap;
  /**
   * A folder that only the agent can enter, for layers with mapped ids: some kernels need them mounted somewhere until
   * overlayfs is mounted. An agent that is killed meanwhile leaves that mount behind.
   */
  readonly scratch?: string;
}

/** Maps ids on disk to the ids that are shown, like a user namespace. */
export interface MountIdMap {
  readonly uids: readonly IdRange[];
  readonly gids: readonly IdRange[];
  /** A file of a user namespace with this map; absent: a temporary one is created. */
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
  /** The number of its filesystem: `254:0`. */
  readonly device: string;
  /** The path in the filesystem that is mounted; `/` is all of it. */
  readonly root: string;
  readonly propagation: Propagation;
}

/** Whether mounts below propagate: in both directions, only to this mount, or not at all. */
export type Propagation = 'shared' | 'slave' | 'private';

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
