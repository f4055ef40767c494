import type { Pod } from '../../api/generated/core-v1.ts';
import { typedChannel } from '../../base/typed-channel.ts';

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
