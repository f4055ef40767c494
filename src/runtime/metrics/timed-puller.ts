import type { Clock } from '../../host/clock.ts';
import type { ImagePuller, PullProgress } from '../images/image-puller.ts';
import type { CallTimers } from './call-timers.ts';

/** The puller, with the number of its pulls and what they received. */
export function timedPuller(
  puller: ImagePuller,
  timers: Pick<CallTimers, 'pullStarted' | 'pullEnded'>,
  clock: Pick<Clock, 'monotonic'>,
): ImagePuller {
  return {
    async pull(reference, auth, signal, watch) {
      const startedMs = clock.monotonic();
      const received = new ReceivedLayers();
      let status: 'success' | 'failure' = 'failure';
      timers.pullStarted();
      try {
        const image = await puller.pull(reference, auth, signal, (progress) => {
          received.add(progress);
          watch?.(progress);
        });
        status = 'success';
        return image;
      } finally {
        timers.pullEnded(status, clock.monotonic() - startedMs, received.bytes());
      }
    },
  };
}

/** The layers of a pull that were transferred. */
class ReceivedLayers {
  readonly #sizes = new Map<string, number>();
  readonly #received = new Set<string>();

  add(progress: PullProgress): void {
    if (progress.kind === 'resolved') {
      for (const { digest, sizeBytes } of progress.layers) this.#sizes.set(digest, sizeBytes);
    } else if (progress.state.phase === 'coming') {
      this.#received.add(progress.digest);
    }
  }

  bytes(): number {
    return [...this.#received].reduce((sum, digest) => sum + (this.#sizes.get(digest) ?? 0), 0);
  }
}
