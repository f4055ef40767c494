import type { Container, Pod } from '../api/generated/core-v1.ts';
import type { Mount } from '../cri/generated/runtime-v1.ts';
import type { PodEvents } from './events/pod-events.ts';
import type { Timeline } from './events/timeline.ts';
import { ensureImage, type ImageDeps, type PresentImage } from './images/ensure-image.ts';
import type { ImageRequest } from './images/image-request.ts';
import { type PullSecretDeps, pullSecrets } from './images/pull-secrets.ts';
import type { LoginSource } from './images/registry-login.ts';
import { type EnvSourcesDeps, fetchEnvSources } from './objects/fetch-env-sources.ts';
import type { PodObjects } from './objects/pod-objects.ts';
import { containerFieldPath } from './pod/container-field-path.ts';
import type { HostFacts } from './resources/host-facts.ts';
import type { Environment } from './sync/config/environment.ts';
import type { ContainerStartContext, StartDeps } from './sync/start-container.ts';
import { type ContainerFilesDeps, prepareContainerFiles } from './volumes/container-files.ts';
import { containerMounts } from './volumes/container-mounts.ts';
import type { PodVolumes } from './volumes/pod-volumes.ts';
import { bindSubPaths, type SubPathsDeps } from './volumes/sub-paths.ts';

export interface ContainerInputDeps extends PullSecretDeps, ContainerFilesDeps, SubPathsDeps, EnvSourcesDeps {
  readonly images: ImageDeps;
  readonly settings: ContainerFilesDeps['settings'];
  readonly timeline: Timeline;
  readonly events: PodEvents;
  readonly objects: PodObjects;
  readonly volumes: PodVolumes;
  readonly hostFacts: Pick<HostFacts, 'seLinuxEnabled'>;
  /** Whether mounts below a read-only mount of the pod can be read-only too. */
  readonly recursiveReadOnly: (pod: Pod, signal: AbortSignal) => Promise<boolean>;
}

/** Prepares the image, the environment sources and the mounts of a starting container. */
export function createContainerInputs(
  deps: ContainerInputDeps,
): Pick<StartDeps, 'ensureImage' | 'envSources' | 'mounts'> {
  // Pull secrets are read once per sync, for all containers that it starts, as in kubelet.
  const secrets = new WeakMap<ContainerStartContext, Promise<readonly LoginSource[]>>();
  const readSecrets = (context: ContainerStartContext, signal: AbortSignal): Promise<readonly LoginSource[]> => {
    const known = secrets.get(context) ?? pullSecrets(context.pod, deps, signal);
    secrets.set(context, known);
    return known;
  };
  return {
    ensureImage: (context, container, signal) => ensureContainerImage(context, container, readSecrets, deps, signal),
    envSources: ({ pod }, container, signal) =>
      fetchEnvSources(pod, container, deps.volumes.volumes(pod.metadata.uid), deps, signal),
    mounts: (context, container, environment, signal) => prepareMounts(context, container, environment, deps, signal),
  };
}

async function ensureContainerImage(
  context: ContainerStartContext,
  container: Container,
  readSecrets: (context: ContainerStartContext, signal: AbortSignal) => Promise<readonly LoginSource[]>,
  deps: ContainerInputDeps,
  signal: AbortSignal,
): Promise<PresentImage> {
  const { pod, sandboxConfig } = context;
  const image = container.image ?? '';
  const pullPolicy = container.imagePullPolicy ?? 'IfNotPresent';
  const fieldPath = containerFieldPath(pod, container.name);
  const record: ImageRequest['record'] = (type, reason, message, cause) =>
    deps.events.record(pod, type, reason, message, fieldPath, cause);
  return deps.timeline.during(pod.metadata.uid, 'image', image, async () => {
    const request = { pod, image, pullPolicy, sandboxConfig, record, pullSecrets: await readSecrets(context, signal) };
    return ensureImage(request, deps.images, signal);
  });
}

async function prepareMounts(
  { pod, podIPs }: ContainerStartContext,
  container: Container,
  environment: Environment,
  deps: ContainerInputDeps,
  signal: AbortSignal,
): Promise<readonly Mount[]> {
  const volumes = deps.volumes.volumes(pod.metadata.uid);
  const variable = (name: string): string => new TextDecoder().decode(environment.get(name));
  const subPaths = await bindSubPaths(pod, container, volumes, variable, deps);
  const files = await prepareContainerFiles(pod, container, podIPs, deps);
  // The runtime is queried only if a mount needs the answer.
  const needsRecursion = container.volumeMounts?.some(({ recursiveReadOnly }) => recursiveReadOnly) ?? false;
  const supportsRecursiveReadOnly = needsRecursion && (await deps.recursiveReadOnly(pod, signal));
  const { seLinuxEnabled } = deps.hostFacts;
  return containerMounts({ container, volumes, subPaths, files, supportsRecursiveReadOnly, seLinuxEnabled });
}
