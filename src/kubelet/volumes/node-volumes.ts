import { abortable } from '../../base/abortable.ts';
import { ChangeSignal } from '../../base/change-signal.ts';
import { KeyedMutex } from '../../base/keyed-mutex.ts';

const IN_USE = 'volume uses the ReadWriteOncePod access mode and is already in use by another pod';

/** A pod that uses a volume of the node. */
export interface NodeVolumeUse {
  /** kubelet's unique volume name: `kubernetes.io/csi/driver^handle`. */
  readonly id: string;
  readonly podUid: string;
}

/** A pod that wants to use a volume of the node. */
export interface NodeVolumeRequest extends NodeVolumeUse {
  /** No other pod may use it: its only access mode is `ReadWriteOncePod`. */
  readonly isExclusive?: boolean;
}

/**
 * The volumes that are mounted once for the whole node and shared by their pods: staged CSI volumes, and file systems of
 * block devices. kubelet's device mounts.
 *
 * 1. `use` mounts the volume for its first pod; the others share the mount.
 * 2. `stopUsing` unmounts it after its last pod, also if another process of the agent has mounted it.
 * 3. Mounts and unmounts of one volume never overlap; those of different volumes do not wait for each other.
 * 4. A volume that cannot be unmounted does not hold up the end of its last pod (`leave`): it becomes an orphan.
 * 5. A mount that failed may have had an effect: its pod uses the volume until `stopUsing`.
 */
export class NodeVolumes {
  readonly #findUses: (signal: AbortSignal) => Promise<readonly NodeVolumeUse[]>;
  readonly #mutex = new KeyedMutex();
  readonly #users = new Map<string, Set<string>>();
  readonly #mounted = new Set<string>();
  /** Volumes that their last pods left, and that are not unmounted yet. */
  readonly #orphans = new Set<string>();
  readonly #orphaned = new ChangeSignal();
  #recovered: Promise<void> | undefined;

  /** `findUses` finds the pods of earlier processes on disk. */
  constructor(findUses: (signal: AbortSignal) => Promise<readonly NodeVolumeUse[]>) {
    this.#findUses = findUses;
  }

  /**
   * `mount` is called unless this process has mounted the volume already. It must be idempotent. Rejects with kubelet's
   * message if the pod would have to share an exclusive volume.
   */
  async use(
    { id, podUid, isExclusive = false }: NodeVolumeRequest,
    mount: () => Promise<void>,
    signal: AbortSignal,
  ): Promise<void> {
    await this.#recover(signal);
    const work = this.#mutex.run(id, async () => {
      signal.throwIfAborted();
      this.#checkShareable({ id, podUid, isExclusive });
      this.#add({ id, podUid });
      this.#orphans.delete(id);
      if (this.#mounted.has(id)) return;
      await mount();
      this.#mounted.add(id);
    });
    await abortable(work, signal);
  }

  /** `unmount` is called if no other pod uses the volume. If it fails, the pod still uses the volume. */
  async stopUsing({ id, podUid }: NodeVolumeUse, unmount: () => Promise<void>, signal: AbortSignal): Promise<void> {
    await this.#recover(signal);
    const work = this.#mutex.run(id, async () => {
      signal.throwIfAborted();
      const users = this.#users.get(id);
      if (users && [...users].some((each) => each !== podUid)) {
        users.delete(podUid);
        return;
      }
      this.#mounted.delete(id);
      await unmount();
      this.#users.delete(id);
      this.#orphans.delete(id);
    });
    await abortable(work, signal);
  }

  /** The pod has ended, and the volume could not be unmounted after it. */
  leave({ id, podUid }: NodeVolumeUse): void {
    const users = this.#users.get(id);
    users?.delete(podUid);
    if (users?.size !== 0) return;
    this.#users.delete(id);
    this.#orphans.add(id);
    this.#orphaned.notify();
  }

  /** Resolves to `true` when pods have left volumes that are still mounted, and to `false` when the signal aborts. */
  orphaned(signal: AbortSignal): Promise<boolean> {
    return this.#orphaned.next(signal);
  }

  /** Whether the volume is to be unmounted, though no pod uses it: it must not be detached before. */
  isOrphan(id: string): boolean {
    return this.#orphans.has(id);
  }

  /** Runs work that must not overlap with a mount or an unmount of the volume, nor with other such work. */
  async exclusively<T>(id: string, work: () => Promise<T>, signal: AbortSignal): Promise<T> {
    const run = this.#mutex.run(id, async () => {
      signal.throwIfAborted();
      return work();
    });
    return abortable(run, signal);
  }

  /** The pods that use a volume, by this or an earlier process. */
  async usersOf(id: string, signal: AbortSignal): Promise<ReadonlySet<string>> {
    await this.#recover(signal);
    return new Set(this.#users.get(id));
  }

  /** Rejects as `use` would, before the pod leaves a trace on disk. */
  async checkShareable(request: NodeVolumeRequest, signal: AbortSignal): Promise<void> {
    await this.#recover(signal);
    this.#checkShareable(request);
  }

  #checkShareable({ id, podUid, isExclusive }: NodeVolumeRequest): void {
    const users = [...(this.#users.get(id) ?? [])];
    if (isExclusive && users.some((each) => each !== podUid)) throw new Error(IN_USE);
  }

  #add({ id, podUid }: NodeVolumeUse): void {
    const users = this.#users.get(id) ?? new Set();
    this.#users.set(id, users.add(podUid));
  }

  /** Reads the disk once. A failure is retried by the next call. */
  async #recover(signal: AbortSignal): Promise<void> {
    this.#recovered ??= this.#findUses(signal).then(
      (uses) => {
        for (const use of uses) this.#add(use);
      },
      (error: unknown) => {
        this.#recovered = undefined;
        throw error;
      },
    );
    await abortable(this.#recovered, signal);
  }
}
