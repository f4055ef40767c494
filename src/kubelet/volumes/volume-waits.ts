import type { ErrorCause } from '../pod/pod-cause.ts';

type Cause = () => ErrorCause | undefined;

/** A volume of a pod. */
export interface WaitingVolume {
  readonly podUid: string;
  /** Its name in the pod's spec. */
  readonly volume: string;
}

/** What the volumes of pods that are being set up wait for. */
export class VolumeWaits {
  readonly #pods = new Map<string, Map<string, Cause>>();
  readonly #aborted = new Map<string, ErrorCause>();

  /** A cause for each volume that waits. */
  of(podUid: string): readonly ErrorCause[] {
    return [...(this.#pods.get(podUid) ?? [])].flatMap(([volume, causeOf]) => {
      const cause = causeOf();
      return cause ? [{ kind: 'volumeFailed', volume, cause } as const] : [];
    });
  }

  /** Shows the cause while the work lasts. */
  async during<T>(waiting: WaitingVolume, causeOf: Cause, work: () => Promise<T>, signal: AbortSignal): Promise<T> {
    const { podUid, volume } = waiting;
    const volumes = this.#pods.get(podUid) ?? new Map<string, Cause>();
    this.#pods.set(podUid, volumes.set(volume, causeOf));
    // The cause is read before the work, which sees the abort later, has an effect on it.
    const onAbort = (): void => {
      const cause = causeOf();
      if (cause) this.#aborted.set(keyOf(waiting), cause);
    };
    signal.addEventListener('abort', onAbort, { once: true });
    try {
      return await work();
    } finally {
      signal.removeEventListener('abort', onAbort);
      volumes.delete(volume);
      if (volumes.size === 0) this.#pods.delete(podUid);
    }
  }

  /** What a volume waited for when its wait was aborted. Returned once. */
  takeAborted(waiting: WaitingVolume): ErrorCause | undefined {
    const cause = this.#aborted.get(keyOf(waiting));
    this.#aborted.delete(keyOf(waiting));
    return cause;
  }
}

function keyOf({ podUid, volume }: WaitingVolume): string {
  return `${podUid}/${volume}`;
}
