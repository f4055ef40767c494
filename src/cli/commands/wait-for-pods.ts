import type { Clock } from '../../host/clock.ts';
import type { AgentView } from '../../kubelet/explain/agent-view.ts';
import { isSettled } from '../output/pod-outcome.ts';

export interface WaitOptions {
  readonly view: Pick<AgentView, 'pods' | 'subscribe'>;
  readonly clock: Pick<Clock, 'sleep'>;
  /** Unique ids of the pods that are waited for. */
  readonly uids: readonly string[];
  readonly timeoutMs: number;
}

/** Resolves to `true` when every pod is ready or has ended, to `false` after the time-out or once aborted. */
export async function waitForPods(
  { view, clock, uids, timeoutMs }: WaitOptions,
  signal: AbortSignal,
): Promise<boolean> {
  const over = new AbortController();
  const settled = Promise.withResolvers<boolean>();
  const look = (): void => {
    const done = new Set(view.pods().flatMap(({ pod, status }) => (isSettled(pod, status) ? [pod.metadata.uid] : [])));
    if (uids.every((uid) => done.has(uid))) settled.resolve(true);
  };
  const unsubscribe = view.subscribe(look);
  look();
  const timeout = clock.sleep(timeoutMs, AbortSignal.any([signal, over.signal])).then(
    () => false,
    () => false,
  );
  try {
    return await Promise.race([settled.promise, timeout]);
  } finally {
    unsubscribe();
    over.abort();
  }
}
