import type { PodStatusView } from './pod-status-view.ts';

/** The view of a pod that the runtime does not know, without probe results. */
export function podStatusView(changes: Pick<PodStatusView, 'pod'> & Partial<PodStatusView>): PodStatusView {
  return {
    observed: undefined,
    probes: { result: () => undefined },
    previous: undefined,
    startErrors: new Map(),
    failure: undefined,
    worker: 'syncing',
    nowMs: 0,
    hostIPs: [],
    runtimeName: 'containerd',
    ...changes,
  };
}
