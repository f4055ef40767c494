import type { Node } from '../../../api/generated/core-v1.ts';
import { abortable } from '../../../base/abortable.ts';
import type { Log } from '../../../base/log.ts';
import type { AttachedVolume, AttachedVolumes, PendingAttachment } from '../../volumes/attached-volumes.ts';
import type { NodeCache } from '../node-cache.ts';
import type { VolumesInUse } from './volumes-in-use.ts';

export interface NodeAttachmentsDeps {
  readonly cache: NodeCache;
  /** Finds the volumes of the node that earlier processes mounted, attachable or not. */
  readonly findOnDisk: () => Promise<readonly string[]>;
  readonly log: Log;
}

/** One use of a volume, from the first wait to the release. */
interface Use {
  waiters: number;
  /** UID of the node object whose `volumesInUse` has the volume. */
  reportedTo: string | undefined;
}

/**
 * The volumes that pods of this node use, reported as the node's `volumesInUse`.
 *
 * 1. A volume is in use from the start of a wait until its release, so that retries of a pod do not change the report.
 * 2. A wait ends when the same node object reports the volume in use and has it in `volumesAttached`. While the node
 *    object is missing, no wait ends.
 * 3. A report counts only for the uses that existed when it was composed: a volume that was released and is used again is
 *    reported again.
 * 4. After a start, nothing is removed from `volumesInUse` before the volumes of earlier processes are known. Those that
 *    were reported stay reported until their release.
 */
export class NodeAttachments implements AttachedVolumes {
  readonly #deps: NodeAttachmentsDeps;
  readonly #uses = new Map<string, Use>();
  readonly #waiting = new Set<() => void>();
  readonly #listeners = new Set<() => void>();
  /** Mounted by an earlier process, and not released by this one. */
  #onDisk: Set<string> | undefined;
  readonly #releasedEarly = new Set<string>();
  #composed: ReadonlyMap<string, Use> = new Map();

  constructor(deps: NodeAttachmentsDeps) {
    this.#deps = deps;
    deps.cache.subscribe(() => this.#onNodeChanged());
  }

  async waitUntilAttached(id: string, signal: AbortSignal): Promise<AttachedVolume> {
    signal.throwIfAborted();
    const use = this.#use(id);
    use.waiters++;
    try {
      return await this.#untilAttached(id, use, signal);
    } finally {
      use.waiters--;
    }
  }

  pending(id: string): PendingAttachment | undefined {
    const use = this.#uses.get(id);
    if (!use || !this.#isReported(use)) return 'notReported';
    return this.#attached(id) ? undefined : 'notAttached';
  }

  release(id: string): void {
    if (this.#uses.get(id)?.waiters) return;
    if (!this.#onDisk) this.#releasedEarly.add(id);
    const wasOnDisk = this.#onDisk?.delete(id) ?? false;
    const wasUsed = this.#uses.delete(id);
    if (wasUsed || wasOnDisk) this.#notify();
  }

  /** Calls the listener when the volumes in use have changed. Returns the function that ends the subscription. */
  subscribe(listener: () => void): () => void {
    const each = (): void => listener();
    this.#listeners.add(each);
    return () => void this.#listeners.delete(each);
  }

  /** The volumes to report. `undefined` while those of earlier processes are unknown: then the report stays as it is. */
  async compose(): Promise<VolumesInUse | undefined> {
    const found = await this.#recover();
    this.#composed = new Map(found ? this.#uses : []);
    return found && { used: [...this.#uses.keys()], leftOver: [...found] };
  }

  /** The API server has this node, which was written after the last `compose`. */
  onReported({ metadata, status }: Node): void {
    const reported = new Set(status?.volumesInUse);
    for (const [id, use] of this.#composed) use.reportedTo = reported.has(id) ? metadata.uid : undefined;
    for (const wake of this.#waiting) wake();
  }

  #use(id: string): Use {
    const known = this.#uses.get(id);
    if (known) return known;
    const use = { waiters: 0, reportedTo: undefined };
    this.#uses.set(id, use);
    this.#notify();
    return use;
  }

  async #untilAttached(id: string, use: Use, signal: AbortSignal): Promise<AttachedVolume> {
    for (;;) {
      const attached = this.#isReported(use) ? this.#attached(id) : undefined;
      if (attached) return attached;
      const woken = Promise.withResolvers<void>();
      this.#waiting.add(woken.resolve);
      try {
        await abortable(woken.promise, signal);
      } finally {
        this.#waiting.delete(woken.resolve);
      }
    }
  }

  #isReported({ reportedTo }: Use): boolean {
    const uid = this.#deps.cache.current?.metadata.uid;
    return uid !== undefined && reportedTo === uid;
  }

  #attached(id: string): AttachedVolume | undefined {
    const found = this.#deps.cache.current?.status?.volumesAttached?.find(({ name }) => name === id);
    return found && { devicePath: found.devicePath };
  }

  /** A new node object has no volumes in use yet. */
  #onNodeChanged(): void {
    const uid = this.#deps.cache.current?.metadata.uid;
    const isNew = [...this.#uses.values()].some(({ reportedTo }) => reportedTo !== undefined && reportedTo !== uid);
    if (uid !== undefined && isNew) this.#notify();
    for (const wake of this.#waiting) wake();
  }

  /** A failure is retried by the next report. */
  async #recover(): Promise<ReadonlySet<string> | undefined> {
    if (this.#onDisk) return this.#onDisk;
    try {
      const ids = await this.#deps.findOnDisk();
      this.#onDisk ??= new Set(ids.filter((id) => !this.#releasedEarly.has(id)));
      this.#releasedEarly.clear();
    } catch (error) {
      this.#deps.log.warn('cannot find the volumes in use by earlier processes', { error });
    }
    return this.#onDisk;
  }

  #notify(): void {
    for (const each of [...this.#listeners]) each();
  }
}
