import { abortable } from '../../../base/abortable.ts';
import { KeyedMutex } from '../../../base/keyed-mutex.ts';
import { VolumeSizes } from './volume-sizes.ts';

/** A pod and one of its persistent volumes. */
export interface CsiUse {
  /** kubelet's unique volume name. */
  readonly id: string;
  readonly podUid: string;
  /** The `name` of its `VolumeSpec`. */
  readonly name: string;
}

interface KnownUse extends CsiUse {
  /** `waiting` for the volume to be attached; then it may be staged. */
  readonly state: 'waiting' | 'staging';
}

/**
 * What this process knows of the CSI volumes of pods. Everything that outlives the process is on disk.
 *
 * 1. A volume stays attached as long as it `isNeeded`.
 * 2. `inTurn` has one call to a driver at a time for each volume, as kubelet has one operation.
 */
export class CsiUses {
  readonly sizes = new VolumeSizes();
  readonly #calls = new KeyedMutex();
  readonly #uses = new Map<string, KnownUse>();
  readonly #published = new Set<string>();
  readonly #missing = new Map<string, Set<string>>();

  /** `volume` is a unique name, or the handle of an ephemeral volume. */
  async inTurn<T>(volume: string, call: () => Promise<T>, signal: AbortSignal): Promise<T> {
    const turn = this.#calls.run(volume, async () => {
      signal.throwIfAborted();
      return call();
    });
    return abortable(turn, signal);
  }

  /** The pod waits for the volume to be attached. */
  add(use: CsiUse): void {
    const key = keyOf(use);
    if (!this.#uses.has(key)) this.#uses.set(key, { ...use, state: 'waiting' });
  }

  /** From here on `forget` keeps the use, until `remove`. */
  begin(use: CsiUse): void {
    this.#uses.set(keyOf(use), { ...use, state: 'staging' });
  }

  /** The volume that the pod has begun to use under this name. */
  idOf({ podUid, name }: Pick<CsiUse, 'podUid' | 'name'>): string | undefined {
    return this.#uses.get(keyOf({ podUid, name }))?.id;
  }

  /** The pod cannot continue before the driver has registered. */
  waitForDriver(driver: string, podUid: string): void {
    this.#missing.set(driver, (this.#missing.get(driver) ?? new Set()).add(podUid));
  }

  /** The pods that wait for a driver, which has registered now. */
  takeWaiting(driver: string): readonly string[] {
    const uids = [...(this.#missing.get(driver) ?? [])];
    this.#missing.delete(driver);
    return uids;
  }

  isPublished(use: Pick<CsiUse, 'podUid' | 'name'>): boolean {
    return this.#published.has(keyOf(use));
  }

  setPublished(use: Pick<CsiUse, 'podUid' | 'name'>, isPublished: boolean): void {
    if (isPublished) this.#published.add(keyOf(use));
    else this.#published.delete(keyOf(use));
  }

  /** The pod has removed its volume. */
  remove(use: Pick<CsiUse, 'podUid' | 'name'>): void {
    this.#uses.delete(keyOf(use));
    this.#published.delete(keyOf(use));
  }

  isNeeded(id: string): boolean {
    return [...this.#uses.values()].some((use) => use.id === id);
  }

  /** What the pod may have staged is kept until it is removed. */
  forget(podUid: string): void {
    const waiting = [...this.#uses.values()].filter((use) => use.podUid === podUid && use.state === 'waiting');
    for (const use of waiting) this.remove(use);
    for (const pods of this.#missing.values()) pods.delete(podUid);
  }
}

function keyOf({ podUid, name }: Pick<CsiUse, 'podUid' | 'name'>): string {
  return `${podUid}/${name}`;
}
