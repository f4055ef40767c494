/** The file systems of containers: an image's layers below, a writable one on top. */
export interface Snapshots {
  /** `overlayfs`, or `native` (copies) where overlay does not work. */
  readonly driver: 'overlayfs' | 'native';

  /**
   * Mounts the root file system of a container at `target` (made when missing). The container's id is its key: its writable
   * layer lies in storage under it until `remove`. Safe to repeat. With `idMap`, what the image owns by 0 is owned by the
   * map's host ids inside and out (an idmapped mount of the layers where the kernel has them, else copies).
   */
  mount(container: SnapshotRequest, signal: AbortSignal): Promise<void>;

  /** Mounts an image read-only at `target`: image volumes. Ids are mapped as by `mount`. */
  mountImage(view: ImageView, signal: AbortSignal): Promise<void>;

  /** Unmounts `target`, whatever `mount` or `mountImage` put there. Nothing there is fine. */
  unmount(target: string): Promise<void>;

  /** Takes the writable layer away; a missing one is fine. It must be unmounted. */
  remove(containerId: string): Promise<void>;

  /** What the writable layer holds. */
  usage(containerId: string): Promise<DiskUsage>;

  /** The keys that have a writable layer: a start removes those that no record speaks of. */
  list(): Promise<readonly string[]>;
}

export interface SnapshotRequest extends ImageView {
  readonly containerId: string;
}

export interface ImageView {
  readonly imageId: string;
  readonly target: string;
  readonly idMap?: IdMap;
}

export interface IdMap {
  readonly uids: ReadonlyArray<{ readonly containerId: number; readonly hostId: number; readonly length: number }>;
  readonly gids: ReadonlyArray<{ readonly containerId: number; readonly hostId: number; readonly length: number }>;
  /** A file of a user namespace with this map; absent: one is made for the occasion, which takes a process. */
  readonly userNamespacePath?: string;
}

export interface DiskUsage {
  readonly bytes: number;
  readonly inodes: number;
}
