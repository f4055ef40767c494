import type { Container } from '../api/generated/core-v1.ts';
import type { Mount } from '../cri/generated/runtime-v1.ts';
import type { PodEvents } from '../kubelet/explain/pod-events.ts';
import type { Timeline } from '../kubelet/explain/timeline.ts';
import { ensureImage, type ImageDeps, type PresentImage } from '../kubelet/images/ensure-image.ts';
import { containerFieldPath } from '../kubelet/sync/container-field-path.ts';
import type { ContainerPlace, StartDeps } from '../kubelet/sync/start-container.ts';
import { type ContainerFilesDeps, prepareContainerFiles } from '../kubelet/volumes/container-files.ts';
import { containerMounts } from '../kubelet/volumes/container-mounts.ts';
import type { PodVolumes } from '../kubelet/volumes/pod-volumes.ts';

export interface ContainerInputDeps extends ImageDeps, ContainerFilesDeps {
  readonly timeline: Timeline;
  readonly events: PodEvents;
  readonly volumes: PodVolumes;
}

/** What the start of a container asks of images and volumes, brought together. */
export function containerInputs(deps: ContainerInputDeps): Pick<StartDeps, 'image' | 'mounts'> {
  return {
    image: (place, container, signal) => imageOf(place, container, deps, signal),
    mounts: (place, container) => mountsOf(place, container, deps),
  };
}

async function imageOf(
  { pod, sandboxConfig }: ContainerPlace,
  container: Container,
  deps: ContainerInputDeps,
  signal: AbortSignal,
): Promise<PresentImage> {
  const image = container.image ?? '';
  const pullPolicy = container.imagePullPolicy ?? 'IfNotPresent';
  const fieldPath = containerFieldPath(pod, container.name);
  const record = (type: 'Normal' | 'Warning', reason: string, message: string): void =>
    deps.events.record(pod, type, reason, message, fieldPath);
  return deps.timeline.during(pod.metadata.uid, 'image', image, () =>
    ensureImage({ pod, image, pullPolicy, sandboxConfig, record }, deps, signal),
  );
}

async function mountsOf(
  { pod, podIPs }: ContainerPlace,
  container: Container,
  deps: ContainerInputDeps,
): Promise<readonly Mount[]> {
  const files = await prepareContainerFiles(pod, container, podIPs, deps);
  return containerMounts({ container, volumes: deps.volumes.paths(pod.metadata.uid), files });
}
