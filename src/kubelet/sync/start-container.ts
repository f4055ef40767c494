import type { Container, Pod } from '../../api/generated/core-v1.ts';
import type { ResourceList } from '../../api/pod-resources.ts';
import { textOf } from '../../base/text-of.ts';
import { CriError } from '../../cri/cri-error.ts';
import type { Mount, PodSandboxConfig } from '../../cri/generated/runtime-v1.ts';
import type { RuntimeService } from '../../cri/services.ts';
import type { FileSystem } from '../../host/file-system.ts';
import type { PodEvents } from '../explain/pod-events.ts';
import type { Timeline } from '../explain/timeline.ts';
import type { ObservedPod } from '../observe/observed-pod.ts';
import type { HostFacts } from '../resources/host-facts.ts';
import { type ContainerConfigInput, type ContainerSettings, containerConfig } from './config/container-config.ts';
import { containerFieldPath } from './container-field-path.ts';
import { PodError, type PodErrorReason } from './pod-error.ts';
import { nextRestartCount } from './restart-count.ts';

/** Where a container begins: everything about its pod that its configuration depends on. */
export interface ContainerPlace {
  readonly pod: Pod;
  readonly sandboxId: string;
  readonly sandboxConfig: PodSandboxConfig;
  /** Primary first; the node's own for a pod on the host network. */
  readonly podIPs: readonly string[];
  /** As last seen before the start: tells how often the container ran. */
  readonly observed: ObservedPod | undefined;
}

export interface StartDeps {
  readonly runtime: RuntimeService;
  readonly fs: FileSystem;
  readonly timeline: Timeline;
  readonly events: PodEvents;
  readonly settings: ContainerSettings & { readonly podLogsDir: string };
  readonly hostFacts: HostFacts;
  readonly allocatable: ResourceList;
  /** Makes sure that the image is there. Rejects with a `PodError`. */
  readonly image: (
    place: ContainerPlace,
    container: Container,
    signal: AbortSignal,
  ) => Promise<ContainerConfigInput['image']>;
  /** The container runs and has a log file, at a path below the folder of the pod's logs. Must not reject. */
  readonly started: (pod: Pod, container: string, id: string, logPath: string) => Promise<void>;
  /** What is mounted into the container. Rejects with a `PodError`. */
  readonly mounts: (place: ContainerPlace, container: Container, signal: AbortSignal) => Promise<readonly Mount[]>;
}

/** Image, configuration, create, start; each a step of the pod's timeline. Rejects with a `PodError`. */
export async function startContainer(
  place: ContainerPlace,
  container: Container,
  deps: StartDeps,
  signal: AbortSignal,
): Promise<void> {
  const { pod } = place;
  const { uid } = pod.metadata;
  const fieldPath = containerFieldPath(pod, container.name);
  const image = await deps.image(place, container, signal);
  const { containerId, logPath } = await deps.timeline.during(uid, 'create container', container.name, async () => {
    const config = await told('CreateContainerConfigError', configOf(place, container, image, deps, signal), signal);
    const request = { podSandboxId: place.sandboxId, config, sandboxConfig: place.sandboxConfig };
    const created = await told('CreateContainerError', deps.runtime.createContainer(request, signal), signal);
    return { containerId: created.containerId, logPath: config.logPath };
  });
  deps.events.record(pod, 'Normal', 'Created', 'Container created', fieldPath);
  await deps.timeline.during(uid, 'start container', container.name, () =>
    told('RunContainerError', deps.runtime.startContainer({ containerId }, signal), signal),
  );
  deps.events.record(pod, 'Normal', 'Started', 'Container started', fieldPath);
  await deps.started(pod, container.name, containerId, logPath);
}

async function configOf(
  place: ContainerPlace,
  container: Container,
  image: ContainerConfigInput['image'],
  deps: StartDeps,
  signal: AbortSignal,
): Promise<ReturnType<typeof containerConfig>> {
  const { pod, podIPs, observed } = place;
  const { settings, hostFacts, allocatable } = deps;
  const restartCount = await nextRestartCount(pod, container.name, observed, settings.podLogsDir, deps.fs);
  return containerConfig({
    pod,
    container,
    restartCount,
    image,
    podIPs,
    mounts: await deps.mounts(place, container, signal),
    serviceEnv: new Map(),
    allocatable,
    settings,
    host: hostFacts,
  });
}

/** Turns what the runtime or the machine refuses into what kubelet says of it. */
async function told<T>(reason: PodErrorReason, call: Promise<T>, signal: AbortSignal): Promise<T> {
  try {
    return await call;
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof PodError) throw error;
    const text = error instanceof CriError ? error.message : textOf(error);
    throw new PodError(reason, text, { cause: error, eventMessage: `Error: ${text}` });
  }
}
