import { dirname } from 'node:path';
import { CriError } from '../../cri/cri-error.ts';
import type { FileSystem } from '../../host/file-system.ts';
import { MountError, type Mounts, type OverlayRequest } from '../../host/mounts.ts';
import { digestOf, hexOf } from './digest.ts';
import type { LayerReferences, LayerUser } from './layer-references.ts';
import type { LayerStore } from './layer-store.ts';
import { mapOwner } from './map-owner.ts';
import { copyInto, mergeLayers } from './merge-layers.ts';
import type { StorageDriver } from './probe-driver.ts';
import type { DiskUsage, IdMap, ImageView, SnapshotRequest, Snapshotter } from './snapshotter.ts';
import { SpaceGuard } from './space-guard.ts';
import type { StorageLayout } from './storage-layout.ts';
import type { Trash } from './trash.ts';

export interface SnapshotterDeps {
  readonly fs: FileSystem;
  readonly mounts: Mounts;
  readonly trash: Trash;
  readonly layout: StorageLayout;
  readonly driver: StorageDriver;
  readonly layers: LayerStore;
  readonly references: LayerReferences;
  readonly image: (reference: string) => { readonly layers: readonly { readonly chainId: string }[] } | undefined;
  /** Removes those of these layers that are not in references. */
  readonly discardLayers: (chain: readonly string[]) => Promise<void>;
}

/** Errors of kernels that cannot map the IDs of these layers. */
const UNSUPPORTED_ID_MAP: ReadonlySet<string> = new Set(['EINVAL', 'ENOSYS', 'EPERM', 'EOPNOTSUPP', 'ENOTSUP']);

/**
 * A container's directory has `fs` and `work`, the writable layer and the work directory of overlayfs; or `copy` with
 * all files, if layers cannot be stacked. A copy is renamed to this name when it is complete.
 */
export class LayeredSnapshotter implements Snapshotter {
  readonly driver: Snapshotter['driver'];
  readonly #deps: SnapshotterDeps;

  constructor(deps: SnapshotterDeps) {
    this.#deps = deps;
    this.driver = deps.driver.format === 'native' ? 'native' : 'overlayfs';
  }

  async mount({ containerId, imageId, target, idMap }: SnapshotRequest, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    const { fs, layout, references } = this.#deps;
    const user = `snapshots/${containerId}` as const;
    const chain = this.#claim(imageId, user);
    const folder = `${layout.snapshots}/${containerId}`;
    const isNew = (await fs.lstat(folder)) === undefined;
    await fs.makeDirectory(folder, 0o700);
    await Promise.all([references.record(user), fs.makeDirectory(target)]);
    if (!isNew && (await this.#isMounted(target, `${folder}/copy`))) return;
    const hasCopy = !isNew && (await fs.lstat(`${folder}/copy`)) !== undefined;
    if (this.driver === 'native' || hasCopy) return this.#bindCopy({ folder, chain, target, idMap }, signal);
    await this.#mountOverlay({ folder, chain, target, idMap }, isNew, signal);
  }

  async mountImage({ imageId, target, idMap }: ImageView, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    const { fs, layout, references } = this.#deps;
    const name = viewName(target);
    const chain = this.#claim(imageId, `views/${name}`);
    const folder = `${layout.views}/${name}`;
    await fs.makeDirectory(folder, 0o700);
    await fs.writeReplacing(`${folder}/target`, target);
    await references.record(`views/${name}`);
    await fs.makeDirectory(target);
    if (await this.#isMounted(target, `${folder}/copy`)) return;
    await this.#mountView({ folder, chain, target, idMap }, signal);
  }

  async #mountView(view: Snapshot, signal: AbortSignal): Promise<void> {
    const { mounts, layout } = this.#deps;
    const { folder, chain, target, idMap } = view;
    const bind = (source: string) => mounts.mount({ source, target, flags: ['bind', 'readOnly'] });
    if (this.driver === 'native') {
      await this.#ensureCopy(view, signal);
      return bind(`${folder}/copy`);
    }
    if (chain.length === 0) return bind(layout.empty);
    // overlayfs requires two lower layers without an upper one.
    const request = { target, lower: [...this.#lower(chain), layout.empty], ...this.#userXattr() };
    if (await this.#tryOverlay(request, idMap)) return;
    await this.#ensureCopy(view, signal);
    await bind(`${folder}/copy`);
  }

  async unmount(target: string): Promise<void> {
    const { fs, mounts, layout, references } = this.#deps;
    try {
      await mounts.unmount(target);
    } catch (error) {
      if (!(error instanceof MountError) || error.code !== 'EBUSY') throw error;
      await mounts.unmount(target, { lazy: true });
    }
    const view = `views/${viewName(target)}` as const;
    if (references.isClaimed(view) || (await fs.lstat(`${layout.root}/${view}`)) !== undefined)
      await this.#discard(view);
  }

  async remove(containerId: string): Promise<void> {
    await this.#discard(`snapshots/${containerId}`);
  }

  async usage(containerId: string): Promise<DiskUsage> {
    const { fs, layout } = this.#deps;
    const folder = `${layout.snapshots}/${containerId}`;
    const hasCopy = (await fs.lstat(`${folder}/copy`)) !== undefined;
    return fs.treeUsage(hasCopy ? `${folder}/copy` : `${folder}/fs`, new AbortController().signal);
  }

  async list(): Promise<readonly string[]> {
    return (await this.#deps.fs.readDirectory(this.#deps.layout.snapshots)).map(({ name }) => name);
  }

  async #mountOverlay(snapshot: Snapshot, isNew: boolean, signal: AbortSignal): Promise<void> {
    const { driver } = this.#deps;
    const { folder, chain, target, idMap } = snapshot;
    const upper = { folder: `${folder}/fs`, work: `${folder}/work` };
    await this.#prepareUpper(upper, snapshot, isNew);
    const request = { target, lower: this.#lower(chain), upper, ...driver.overlay };
    if (!(await this.#tryOverlay(request, idMap))) await this.#bindCopy(snapshot, signal);
  }

  /** False: the kernel cannot map the IDs of these layers. */
  async #tryOverlay(request: OverlayRequest, idMap: IdMap | undefined): Promise<boolean> {
    const { fs, mounts, layout } = this.#deps;
    try {
      if (idMap === undefined) await mounts.mountOverlay(request);
      else {
        await fs.makeDirectory(layout.unfinished, 0o700); // omitted at start-up when the disk was full
        await mounts.mountOverlay({ ...request, idMap, scratch: layout.unfinished });
      }
      return true;
    } catch (error) {
      if (idMap === undefined || !(error instanceof MountError) || !UNSUPPORTED_ID_MAP.has(error.code)) throw error;
      return false;
    }
  }

  /** The upper directory is the container's root directory: it gets the attributes of the image's root. */
  async #prepareUpper(upper: Upper, { chain, idMap }: Snapshot, isNew: boolean): Promise<void> {
    const { fs } = this.#deps;
    // The kernel rejects a `work` directory that was in use when power was lost.
    if (!isNew) await fs.removeTree(upper.work);
    await fs.makeDirectory(upper.work, 0o711);
    if (!isNew && (await fs.lstat(upper.folder)) !== undefined) return;
    const [top] = this.#lower(chain);
    const { mode, ...owner } = (top === undefined ? undefined : await fs.lstat(top)) ?? { mode: 0o755, uid: 0, gid: 0 };
    await fs.makeDirectory(upper.folder, mode);
    const { uid, gid } = mapOwner(owner, idMap);
    if (uid !== 0 || gid !== 0) await fs.changeOwner(upper.folder, uid, gid);
  }

  async #bindCopy(snapshot: Snapshot, signal: AbortSignal): Promise<void> {
    await this.#ensureCopy(snapshot, signal);
    await this.#deps.mounts.mount({ source: `${snapshot.folder}/copy`, target: snapshot.target, flags: ['bind'] });
  }

  async #ensureCopy({ folder, chain, idMap }: Snapshot, signal: AbortSignal): Promise<void> {
    const { fs } = this.#deps;
    if ((await fs.lstat(`${folder}/copy`)) !== undefined) return;
    const unfinished = `${folder}/copying`;
    await fs.removeTree(unfinished);
    await fs.makeDirectory(unfinished, 0o755);
    if (this.driver === 'native') {
      const layers = chain.map(async (id) => ({
        folder: this.#deps.layers.folder(id),
        ...(await this.#deps.layers.describe(id)),
      }));
      await mergeLayers(fs, await Promise.all(layers), unfinished, idMap, signal);
    } else await this.#copyOverlay(folder, chain, idMap, signal);
    await fs.rename(unfinished, `${folder}/copy`);
  }

  /** Reads layers with overlayfs whiteouts through overlayfs. */
  async #copyOverlay(
    folder: string,
    chain: readonly string[],
    idMap: IdMap | undefined,
    signal: AbortSignal,
  ): Promise<void> {
    const { fs, mounts, layout } = this.#deps;
    if (chain.length === 0) return;
    const source = `${folder}/merged`;
    await fs.makeDirectory(source);
    await mounts.mountOverlay({ target: source, lower: [...this.#lower(chain), layout.empty], ...this.#userXattr() });
    try {
      await using writer = await fs.writeTree(`${folder}/copying`);
      await copyInto({ fs, writer, space: new SpaceGuard(fs, layout.root) }, source, idMap, signal);
      await writer.finish();
    } finally {
      await mounts.unmount(source);
    }
  }

  /** A container's mount is on a device of its own, or is its copy. */
  async #isMounted(target: string, copy: string): Promise<boolean> {
    const { fs } = this.#deps;
    const [here, around, whole] = await Promise.all([fs.lstat(target), fs.lstat(dirname(target)), fs.lstat(copy)]);
    return here?.device !== around?.device || (whole !== undefined && here?.inode === whole.inode);
  }

  /** Moved away first, so that a start after a crash does not find half of it. Its image may be removed already. */
  async #discard(user: LayerUser): Promise<void> {
    const { fs, trash, mounts, layout, references, discardLayers } = this.#deps;
    const folder = `${layout.root}/${user}`;
    const chain = await references.chainOf(user);
    if ((await fs.lstat(folder)) !== undefined) {
      // An interrupted copy may have left this mount.
      if ((await fs.lstat(`${folder}/merged`)) !== undefined) await mounts.unmount(`${folder}/merged`);
      await trash.discard(folder);
    }
    references.release(user);
    await discardLayers(chain);
  }

  /** Uppermost first, as overlayfs requires. */
  #lower(chain: readonly string[]): readonly string[] {
    const folders = chain.map((id) => this.#deps.layers.folder(id)).reverse();
    return folders.length > 0 ? folders : [this.#deps.layout.empty];
  }

  #userXattr(): { readonly userXattr: boolean } {
    return { userXattr: this.#deps.driver.overlay.userXattr };
  }

  /** Synchronous between lookup and claim, so that the layers cannot be removed in between. */
  #claim(imageId: string, user: LayerUser): readonly string[] {
    const record = this.#deps.image(imageId);
    if (record === undefined) throw new CriError('NotFound', `image ${JSON.stringify(imageId)} not found`);
    const chain = record.layers.map(({ chainId }) => chainId);
    this.#deps.references.claim(user, chain);
    return chain;
  }
}

interface Snapshot {
  readonly folder: string;
  readonly chain: readonly string[];
  readonly target: string;
  readonly idMap: IdMap | undefined;
}

interface Upper {
  readonly folder: string;
  readonly work: string;
}

function viewName(target: string): string {
  return hexOf(digestOf(target)).slice(0, 32);
}
