import { errorText } from '../../base/error-text.ts';
import { CausedError, type ErrorCause, podCauseOf } from '../pod/pod-cause.ts';

type Cause = () => ErrorCause | undefined;

/** What the volumes of pods that are being set up wait for. */
export class VolumeWaits {
  readonly #pods = new Map<string, Map<string, Cause>>();

  /** A cause for each volume that waits. */
  of(podUid: string): readonly ErrorCause[] {
    return [...(this.#pods.get(podUid) ?? [])].flatMap(([volume, causeOf]) => {
      const cause = causeOf();
      return cause ? [{ kind: 'volumeFailed', volume, cause } as const] : [];
    });
  }

  /** Shows the cause while the work lasts. If the work is aborted, its error has the cause. */
  async during<T>(
    { podUid, volume }: { readonly podUid: string; readonly volume: string },
    causeOf: Cause,
    work: () => Promise<T>,
    signal: AbortSignal,
  ): Promise<T> {
    const volumes = this.#pods.get(podUid) ?? new Map<string, Cause>();
    this.#pods.set(podUid, volumes.set(volume, causeOf));
    let abortedIn: ErrorCause | undefined;
    // The cause is read before the work, which sees the abort later, has an effect on it.
    const onAbort = (): void => {
      abortedIn = causeOf();
    };
    signal.addEventListener('abort', onAbort, { once: true });
    try {
      return await work();
    } catch (error) {
      throw podCauseOf(error) || !abortedIn ? error : new CausedError(errorText(error), abortedIn, { cause: error });
    } finally {
      signal.removeEventListener('abort', onAbort);
      volumes.delete(volume);
      if (volumes.size === 0) this.#pods.delete(podUid);
    }
  }
}
