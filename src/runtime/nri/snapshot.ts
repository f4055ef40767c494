import type { ContainerRecord } from '../store/container-record.ts';
import type { SandboxRecord } from '../store/sandbox-record.ts';
import type { Container, PodSandbox } from './generated/nri-v1alpha1.ts';
import type { NotifiedObjects } from './notified-objects.ts';
import type { NriRuntime } from './nri.ts';
import { nriContainer } from './nri-container.ts';
import { nriPod } from './nri-pod.ts';

/** Objects that plugins know and the runtime does not list yet. */
export interface UnlistedObjects {
  readonly pods: NotifiedObjects;
  /** Containers between their creation and the notification of it. */
  readonly unlisted: ReadonlyMap<string, ContainerRecord>;
}

/**
 * Returns everything that a new plugin must know. Includes all objects that other plugins know, so nothing is lost
 * between this and the plugin's first event.
 */
export function takeSnapshot(
  runtime: NriRuntime,
  { pods, unlisted }: UnlistedObjects,
): { readonly pods: readonly PodSandbox[]; readonly containers: readonly Container[] } {
  const listed = runtime.containers().filter(isLive);
  const ids = new Set(listed.map(({ id }) => id));
  const missing = [...unlisted.values()].filter(({ id }) => !ids.has(id));
  return {
    pods: runtime
      .sandboxes()
      .filter((pod) => isListed(pod) || (pod.state.phase === 'creating' && pods.has(pod.id)))
      .map(nriPod),
    containers: [...listed, ...missing].map((container) => nriContainer(container)),
  };
}

function isListed({ state }: SandboxRecord): boolean {
  return state.phase === 'ready' || state.phase === 'notReady';
}

function isLive({ state }: ContainerRecord): boolean {
  return state.phase === 'created' || state.phase === 'starting' || state.phase === 'running';
}
