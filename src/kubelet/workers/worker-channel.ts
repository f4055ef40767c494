import type { Pod } from '../../api/generated/core-v1.ts';
import { typedChannel } from '../../base/typed-channel.ts';
import type { Clock } from '../../host/clock.ts';

/** What made the worker run: the new pod, a new version of it or its end, or anything else. */
export type WorkerOperation = 'create' | 'update' | 'sync' | 'terminated';

/** What the pod workers did. */
export type WorkerMessage =
  /** The pod has a worker. */
  | { readonly kind: 'seen'; readonly pod: Pod; readonly isRestart: boolean }
  /** The first sync of a pod begins. */
  | { readonly kind: 'started'; readonly pod: Pod; readonly waitedMs: number }
  | { readonly kind: 'ran'; readonly operation: WorkerOperation; readonly tookMs: number }
  /** Nothing of the pod is left, or it starts anew under its UID. */
  | { readonly kind: 'gone'; readonly pod: Pod }
  /** A pod of the runtime that no source wants got a worker. */
  | { readonly kind: 'orphanFound' };

export const workerChannel = typedChannel<WorkerMessage>('nodelet.pod.worker');

/** Publishes one pass of a worker: its start if it is the first one, and its duration. */
export async function measuredPass(
  { pod, operation, seenMs }: { readonly pod: Pod; readonly operation: WorkerOperation; readonly seenMs: number },
  clock: Pick<Clock, 'monotonic'>,
  run: () => Promise<void>,
): Promise<void> {
  const beganMs = clock.monotonic();
  if (operation === 'create') workerChannel.publish({ kind: 'started', pod, waitedMs: beganMs - seenMs });
  try {
    await run();
  } finally {
    workerChannel.publish({ kind: 'ran', operation, tookMs: clock.monotonic() - beganMs });
  }
}
