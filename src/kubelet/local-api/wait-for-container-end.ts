import type { AgentView } from '../explain/agent-view.ts';

/** Resolves when the agent has observed the end of the container; never, once the signal has aborted. */
export function waitForContainerEnd(
  view: Pick<AgentView, 'pods' | 'subscribe'>,
  uid: string,
  containerId: string,
  signal: AbortSignal,
): Promise<void> {
  const isRunning = (): boolean => {
    const report = view.pods().find(({ pod }) => pod.metadata.uid === uid);
    const container = report?.observed?.containers.find(({ id }) => id === containerId);
    return container !== undefined && (container.state === 'running' || container.state === 'created');
  };
  return new Promise((resolve) => {
    const check = (): void => {
      if (isRunning()) return;
      unsubscribe();
      resolve();
    };
    const unsubscribe = view.subscribe((event) => {
      if (event.kind !== 'manifest' && event.pod.metadata.uid === uid) check();
    });
    signal.addEventListener('abort', unsubscribe, { once: true });
    check();
  });
}
