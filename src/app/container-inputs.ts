import type { Container, Pod } from '../api/generated/core-v1.ts';
import type { Mount } from '../cri/generated/runtime-v1.ts';
import type { PodEvents } from '../kubelet/events/pod-events.ts';
import type { Timeline } from '../kubelet/events/timeline.ts';
import { ensureImage, type ImageDeps, type PresentImage } from '../kubelet/images/ensure-image.ts';
import { type PullSecretDeps, pullSecrets } from '../kubelet/images/pull-secrets.ts';
import type { LoginSource } from '../kubelet/images/registry-login.ts';
import { type EnvSourcesDeps, fetchEnvSources } from '../kubelet/objects/fetch-env-sources.ts';
import type { PodObjects } from '../kubelet/objects/pod-objects.ts';
import { containerFieldPath } from '../kubelet/pod/container-field-path.ts';
import type { HostFacts } from '../kubelet/resources/host-facts.ts';
import type { Environment } from '../kubelet/sync/config/environment.ts';
import { relabelledVolumes } from '../kubelet/sync/config/selinux-relabel.ts';
import type { ContainerPlace, StartDeps } from '../kubelet/sync/start-container.ts';
import { type ContainerFilesDeps, prepareContainerFiles } from '../kubelet/volumes/container-files.ts';
import { containerMounts } from '../kubelet/volumes/container-mounts.ts';
import type { PodVolumes } from '../kubelet/volumes/pod-volumes.ts';
import { bindSubPaths, type SubPathsDeps } from '../kubelet/volumes/sub-paths.ts';

export interface ContainerInputDeps
  extends ImageDeps,
    PullSecretDeps,
    ContainerFilesDeps,
    SubPathsDeps,
    EnvSourcesDeps {
  readonly settings: ContainerFilesDeps['settings'];
  readonly timeline: Timeline;
  readonly events: PodEvents;
  readonly objects: PodObjects;
  readonly volumes: PodVolumes;
  readonly hostFacts: Pick<HostFacts, 'seLinuxEnabled'>;
  /** Whether all that is mounted below a read-only mount of the pod can be read-only too. */
  readonly recursiveReadOnly: (pod: Pod, signal: AbortSignal) => Promise<boolean>;
}

/** What the start of a container asks of images, volumes and objects, brought together. */
export function containerInputs(deps: ContainerInputDeps): Pick<StartDeps, 'image' | 'envSources' | 'mounts'> {
  // Once for all containers that one pass over the pod starts, as kubelet does it.
  const secrets = new WeakMap<ContainerPlace, Promise<readonly LoginSource[]>>();
  const secretsOf = (place: ContainerPlace, signal: AbortSignal): Promise<readonly LoginSource[]> => {
    const known = secrets.get(place) ?? pullSecrets(place.pod, deps, signal);
    secrets.set(place, known);
    return known;
  };
  return {
    image: (place, container, signal) => imageOf(place, container, secretsOf, deps, signal),
    envSources: ({ pod }, container, signal) =>
      fetchEnvSources(pod, container, deps.volumes.volumes(pod.metadata.uid), deps, signal),
    mounts: (place, container, environment, signal) => mountsOf(place, container, environment, deps, signal),
  };
}

async function imageOf(
  place: ContainerPlace,
  container: Container,
  secretsOf: (place: ContainerPlace, signal: AbortSignal) => Promise<readonly LoginSource[]>,
  deps: ContainerInputDeps,
  signal: AbortSignal,
): Promise<PresentImage> {
  const { pod, sandboxConfig } = place;
  const image = container.image ?? '';
  const pullPolicy = container.imagePullPolicy ?? 'IfNotPresent';
  const fieldPath = containerFieldPath(pod, container.name);
  const record = (type: 'Normal' | 'Warning', reason: string, message: string): void =>
    deps.events.record(pod, type, reason, message, fieldPath);
  return deps.timeline.during(pod.metadata.uid, 'image', image, async () => {
    const request = { pod, image, pullPolicy, sandboxConfig, record, pullSecrets: await secretsOf(place, signal) };
    return ensureImage(request, deps, signal);
  });
}

async function mountsOf(
  { pod, podIPs }: ContainerPlace,
  container: Container,
  environment: Environment,
  deps: ContainerInputDeps,
  signal: AbortSignal,
): Promise<readonly Mount[]> {
  const volumes = deps.volumes.volumes(pod.metadata.uid);
  const variable = (name: string): string => new TextDecoder().decode(environment.get(name));
  const subPaths = await bindSubPaths(pod, container, volumes, variable, deps);
  const files = await prepareContainerFiles(pod, container, podIPs, deps);
  // The runtime is asked only where it matters.
  const asksForRecursion = container.volumeMounts?.some(({ recursiveReadOnly }) => recursiveReadOnly) ?? false;
  const supportsRecursiveReadOnly = asksForRecursion && (await deps.recursiveReadOnly(pod, signal));
  const relabelled = deps.hostFacts.seLinuxEnabled ? relabelledVolumes(pod) : undefined;
  return containerMounts({ container, volumes, subPaths, files, supportsRecursiveReadOnly, relabelled });
}
