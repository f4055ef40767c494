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
