import type { ContainerRecord } from '../store/container-record.ts';
import type { SandboxRecord } from '../store/sandbox-record.ts';
import type { Container, PodSandbox } from './generated/nri-v1alpha1.ts';
import type { NriRuntime } from './nri.ts';
import { nriContainer } from './nri-container.ts';
import { nriPod } from './nri-pod.ts';
import type { Told } from './told.ts';

/** What plugins have heard of while the runtime does not show it to anybody yet. */
export interface Unshown {
  readonly pods: Told;
  /** Containers between their creation and the news of it. */
  readonly fresh: ReadonlyMap<string, ContainerRecord>;
}

/**
 * All that a new plugin has to know: none is missing that other plugins have heard of, so nothing is lost between this
 * and the first event that it gets.
 */
export function snapshot(
  runtime: NriRuntime,
  { pods, fresh }: Unshown,
): { readonly pods: readonly PodSandbox[]; readonly containers: readonly Container[] } {
  const shown = runtime.containers().filter(isLive);
  const ids = new Set(shown.map(({ id }) => id));
  const unshown = [...fresh.values()].filter(({ id }) => !ids.has(id));
  return {
    pods: runtime
      .sandboxes()
      .filter((pod) => isShown(pod) || (pod.state.phase === 'creating' && pods.has(pod.id)))
      .map(nriPod),
    containers: [...shown, ...unshown].map((container) => nriContainer(container)),
  };
}

function isShown({ state }: SandboxRecord): boolean {
  return state.phase === 'ready' || state.phase === 'notReady';
}

function isLive({ state }: ContainerRecord): boolean {
  return state.phase === 'created' || state.phase === 'starting' || state.phase === 'running';
}
