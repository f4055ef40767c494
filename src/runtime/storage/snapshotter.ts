/** The root filesystems of containers: an image's layers below a writable one. */
export interface Snapshotter {
  /** `overlayfs`, or `native` (copies) where overlay does not work. */
  readonly driver: 'overlayfs' | 'native';

  /**
   * Mounts the root filesystem of a container at `target` (created if missing). The writable layer is stored under the
   * container's ID until `remove`. Idempotent. With `idMap`, files that the image owns as 0 belong to the map's host
   * IDs (through an idmapped mount of the layers if the kernel supports it, else through copies).
   */
  mount(container: SnapshotRequest, signal: AbortSignal): Promise<void>;

  /** Mounts an image read-only at `target` for image volumes. IDs are mapped as by `mount`. */
  mountImage(view: ImageView, signal: AbortSignal): Promise<void>;

  /** Unmounts what `mount` or `mountImage` mounted. A missing mount is not an error. */
  unmount(target: string): Promise<void>;

  /** Removes the writable layer, which must be unmounted. A missing one is not an error. */
  remove(containerId: string): Promise<void>;

  /** Disk usage of the writable layer. */
  usage(containerId: string): Promise<DiskUsage>;

  /** The container IDs that have a writable layer: start-up removes those without a record. */
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
  /** A file of a user namespace with this map; absent: a temporary namespace is created, which takes a process. */
  readonly userNamespacePath?: string;
}

export interface DiskUsage {
  readonly bytes: number;
  readonly inodes: number;
}
