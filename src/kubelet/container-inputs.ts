import type { Container, ImageVolumeSource, Pod } from '../api/generated/core-v1.ts';
import type { Mount } from '../cri/generated/runtime-v1.ts';
import type { RuntimeService } from '../cri/services.ts';
import type { PodEvents } from './events/pod-events.ts';
import type { Timeline } from './events/timeline.ts';
import { ensureImage, type ImageDeps, type PresentImage } from './images/ensure-image.ts';
import type { ImageRequest } from './images/image-request.ts';
import { type PullSecretDeps, pullSecrets } from './images/pull-secrets.ts';
import type { LoginSource } from './images/registry-login.ts';
import { type EnvSourcesDeps, fetchEnvSources } from './objects/fetch-env-sources.ts';
import type { PodObjects } from './objects/pod-objects.ts';
import type { RuntimeHandlers } from './objects/runtime-classes.ts';
import { containerFieldPath } from './pod/container-field-path.ts';
import { podErrorEvent } from './pod/pod-error.ts';
import type { HostFacts } from './resources/host-facts.ts';
import type { ContainerStartContext, MountInputs, StartDeps, VolumeImages } from './sync/start-container.ts';
import { checkResponses } from './volumes/check-responses.ts';
import { containerDevices } from './volumes/container-devices.ts';
import { type ContainerFilesDeps, prepareContainerFiles } from './volumes/container-files.ts';
import { containerMounts } from './volumes/container-mounts.ts';
import { ensureImageVolumes, imageMounts } from './volumes/image-volumes.ts';
import type { PodVolumes } from './volumes/pod-volumes.ts';
import { bindSubPaths, type SubPathsDeps } from './volumes/sub-paths.ts';

export interface ContainerInputDeps extends PullSecretDeps, ContainerFilesDeps, SubPathsDeps, EnvSourcesDeps {
  readonly runtime: Pick<RuntimeService, 'version'>;
  readonly runtimeHandlers: Pick<RuntimeHandlers, 'cachedHandler'>;
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

/** What is read once per sync, for all containers that it starts, as in kubelet. */
interface SyncInputs {
  readonly secrets: (signal: AbortSignal) => Promise<readonly LoginSource[]>;
  /** Images of image volumes, by reference and pull policy. */
  readonly volumeImages: Map<string, Promise<PresentImage>>;
}

/** Prepares the images, the environment sources, the mounts and the devices of a starting container. */
export function createContainerInputs(
  deps: ContainerInputDeps,
): Pick<StartDeps, 'ensureImage' | 'ensureImageVolumes' | 'envSources' | 'mounts' | 'devices'> {
  const syncs = new WeakMap<ContainerStartContext, SyncInputs>();
  const syncOf = (context: ContainerStartContext): SyncInputs => {
    const known = syncs.get(context) ?? createSyncInputs(context, deps);
    syncs.set(context, known);
    return known;
  };
  return {
    ensureImage: (context, container, signal) =>
      ensureContainerImage(context, container, syncOf(context), deps, signal),
    ensureImageVolumes: (context, container, signal) =>
      ensureVolumeImages(context, container, syncOf(context), deps, signal),
    envSources: ({ pod }, container, signal) =>
      fetchEnvSources(pod, container, deps.volumes.volumes(pod.metadata.uid), deps, signal),
    devices: ({ pod }, container) => containerDevices(container, deps.volumes.devices(pod.metadata.uid)),
    mounts: (context, container, inputs, signal) => prepareMounts(context, container, inputs, deps, signal),
  };
}

function createSyncInputs({ pod }: ContainerStartContext, deps: ContainerInputDeps): SyncInputs {
  let secrets: Promise<readonly LoginSource[]> | undefined;
  return { secrets: (signal) => (secrets ??= pullSecrets(pod, deps, signal)), volumeImages: new Map() };
}

function ensureContainerImage(
  context: ContainerStartContext,
  container: Container,
  sync: SyncInputs,
  deps: ContainerInputDeps,
  signal: AbortSignal,
): Promise<PresentImage> {
  const { image = '', imagePullPolicy: pullPolicy = 'IfNotPresent', name } = container;
  const fieldPath = containerFieldPath(context.pod, name);
  return ensurePodImage(context, { image, pullPolicy, fieldPath }, sync, deps, signal);
}

/** The events about the image of a volume are those of the pod, not of a container. */
function ensureVolumeImages(
  context: ContainerStartContext,
  container: Container,
  sync: SyncInputs,
  deps: ContainerInputDeps,
  signal: AbortSignal,
): Promise<VolumeImages> {
  const { pod } = context;
  const { volumeImages } = sync;
  const ensureOnce = async ({ reference: image = '', pullPolicy = 'IfNotPresent' }: ImageVolumeSource) => {
    const key = JSON.stringify([image, pullPolicy]);
    const request = { image, pullPolicy, fieldPath: undefined };
    const ensured = volumeImages.get(key) ?? ensurePodImage(context, request, sync, deps, signal);
    volumeImages.set(key, ensured);
    return (await ensured).ref;
  };
  return ensureImageVolumes(pod, container, {
    version: () => deps.runtime.version({ version: '' }, signal),
    ensureImage: ensureOnce,
    recordError: (error) => {
      const { type, reason, message, cause } = podErrorEvent(error);
      deps.events.record(pod, type, reason, message, containerFieldPath(pod, container.name), cause);
    },
    runtimeHandler: deps.runtimeHandlers.cachedHandler(pod) ?? '',
  });
}

interface PodImage extends Pick<ImageRequest, 'image' | 'pullPolicy'> {
  /** Of the container that the events are about; absent: of the pod. */
  readonly fieldPath: string | undefined;
}

function ensurePodImage(
  { pod, sandboxConfig }: ContainerStartContext,
  { image, pullPolicy, fieldPath }: PodImage,
  sync: SyncInputs,
  deps: ContainerInputDeps,
  signal: AbortSignal,
): Promise<PresentImage> {
  const record: ImageRequest['record'] = (type, reason, message, cause) =>
    deps.events.record(pod, type, reason, message, fieldPath, cause);
  return deps.timeline.during(pod.metadata.uid, 'image', image, async () => {
    const request = { pod, image, pullPolicy, sandboxConfig, record, pullSecrets: await sync.secrets(signal) };
    return ensureImage(request, deps.images, signal);
  });
}

async function prepareMounts(
  { pod, podIPs }: ContainerStartContext,
  container: Container,
  { environment, volumeImages }: MountInputs,
  deps: ContainerInputDeps,
  signal: AbortSignal,
): Promise<readonly Mount[]> {
  const volumes = deps.volumes.volumes(pod.metadata.uid);
  const variable = (name: string): string => new TextDecoder().decode(environment.get(name));
  await checkResponses(container, volumes, signal);
  const images = imageMounts(container, volumeImages, variable);
  const subPaths = await bindSubPaths(pod, container, volumes, variable, deps);
  const files = await prepareContainerFiles(pod, container, podIPs, deps);
  // The runtime is queried only if a mount needs the answer.
  const needsRecursion = container.volumeMounts?.some(({ recursiveReadOnly }) => recursiveReadOnly) ?? false;
  const supportsRecursiveReadOnly = needsRecursion && (await deps.recursiveReadOnly(pod, signal));
  const { seLinuxEnabled } = deps.hostFacts;
  return containerMounts({ container, volumes, subPaths, images, files, supportsRecursiveReadOnly, seLinuxEnabled });
}
