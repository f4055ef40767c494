import type { FileSystem } from '../../../host/file-system.ts';
import type { Mounts } from '../../../host/mounts.ts';
import type { DiskUsage, ImageView, SnapshotRequest, Snapshotter } from '../../storage/snapshotter.ts';

/** Writable layers and mounts as two sets; a mount is an empty directory at its target. */
export class MemorySnapshots implements Snapshotter {
  readonly driver = 'overlayfs';
  readonly layers = new Set<string>();
  readonly mounted = new Set<string>();
  /** The next call of this kind fails with this text. */
  readonly failNext = new Map<'mount' | 'mountImage' | 'unmount' | 'remove', string>();
  readonly #fs: FileSystem;
  readonly #mounts: Mounts;

  constructor({ fs, mounts }: { readonly fs: FileSystem; readonly mounts: Mounts }) {
    this.#fs = fs;
    this.#mounts = mounts;
  }

  async mount({ containerId, target }: SnapshotRequest, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    this.layers.add(containerId);
    this.failIfInjected('mount');
    await this.#fs.makeDirectory(target);
    this.mounted.add(target);
  }

  async mountImage({ target }: ImageView, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    this.failIfInjected('mountImage');
    await this.#fs.makeDirectory(target);
    this.mounted.add(target);
  }

  async unmount(target: string): Promise<void> {
    this.failIfInjected('unmount');
    this.mounted.delete(target);
    await this.#mounts.unmount(target);
  }

  async remove(containerId: string): Promise<void> {
    this.failIfInjected('remove');
    this.layers.delete(containerId);
  }

  async usage(): Promise<DiskUsage> {
    return { bytes: 0, inodes: 0 };
  }

  async list(): Promise<readonly string[]> {
    return [...this.layers];
  }

  failIfInjected(call: 'mount' | 'mountImage' | 'unmount' | 'remove'): void {
    const text = this.failNext.get(call);
    this.failNext.delete(call);
    if (text !== undefined) throw new Error(text);
  }
}
