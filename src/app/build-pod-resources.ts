import type { Part } from '../base/supervise.ts';
import type { AllocatedResources } from '../kubelet/pod-resources/allocated-resources.ts';
import { podResourcesApi } from '../kubelet/pod-resources/pod-resources-api.ts';
import type { SyncLoop } from '../kubelet/sync-loop.ts';
import type { AgentParts } from './agent.ts';

export interface PodResourcesBuildDeps {
  readonly allocated: AllocatedResources;
  readonly loop: Pick<SyncLoop, 'index' | 'activePods'>;
}

/** The server of the pod resources API; none without a way to serve it. */
export function buildPodResources(
  { servePodResources, settings }: AgentParts,
  { allocated, loop }: PodResourcesBuildDeps,
): readonly Part[] {
  if (!servePodResources) return [];
  const service = podResourcesApi({
    pods: { all: () => [...loop.index.podByUid.values()], active: () => loop.activePods() },
    allocated,
    listsActivePods: settings.podResourcesListActivePods ?? true,
  });
  const folder = `${settings.rootDir}/pod-resources`;
  return [{ name: 'pod resources API', run: (signal) => servePodResources(folder, service, signal), isEndless: true }];
}
