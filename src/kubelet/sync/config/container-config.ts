import type { Container, Pod } from '../../../api/generated/core-v1.ts';
import type { ResourceList } from '../../../api/pod-resources.ts';
import { expandEnv } from '../../../base/env-expand.ts';
import { textOf } from '../../../base/text-of.ts';
import { ContainerConfig, type Mount } from '../../../cri/generated/runtime-v1.ts';
import { containerResources, type ResourceSettings } from '../../resources/container-resources.ts';
import type { HostFacts } from '../../resources/host-facts.ts';
import { PodError } from '../pod-error.ts';
import { containerAnnotations, containerLabels } from './annotations.ts';
import { containerEnvironment } from './environment.ts';
import { containerLogPath } from './pod-paths.ts';
import { containerSecurityContext, type ImageUser, type SecuritySettings } from './security-context.ts';

/** What of the node's settings shows in a container. */
export interface ContainerSettings extends ResourceSettings, SecuritySettings {
  readonly hostIPs: readonly string[];
}

export interface ContainerConfigInput {
  readonly pod: Pod;
  readonly container: Container;
  /** How often the container was started before. */
  readonly restartCount: number;
  /** What the runtime calls the image, and the user that the image asks for: from `ensureImage`. */
  readonly image: { readonly ref: string; readonly user: ImageUser };
  /** Primary first; the node's own for a pod on the host network. */
  readonly podIPs: readonly string[];
  /** From `containerMounts`. */
  readonly mounts: readonly Mount[];
  readonly serviceEnv: ReadonlyMap<string, string>;
  /** What pods may use of this node: limits that nobody set are shown as these. */
  readonly allocatable: ResourceList;
  readonly settings: ContainerSettings;
  readonly host: HostFacts;
}

/**
 * What the runtime is told of a container. Throws a `PodError` (`CreateContainerConfigError`) for a container that
 * cannot be.
 */
export function containerConfig(input: ContainerConfigInput): ContainerConfig {
  try {
    return buildConfig(input);
  } catch (error) {
    throw new PodError('CreateContainerConfigError', textOf(error), {
      cause: error,
      eventMessage: `Error: ${textOf(error)}`,
    });
  }
}

function buildConfig(input: ContainerConfigInput): ContainerConfig {
  const { pod, container, restartCount, image, mounts, settings, host } = input;
  const environment = containerEnvironment({ ...input, hostIPs: settings.hostIPs });
  const expand = (text: string) => expandEnv(text, (name) => environment.get(name));
  return ContainerConfig.fromPartial({
    metadata: { name: container.name, attempt: restartCount },
    image: { image: image.ref, userSpecifiedImage: container.image ?? '' },
    command: (container.command ?? []).map(expand),
    args: (container.args ?? []).map(expand),
    workingDir: container.workingDir ?? '',
    envs: Array.from(environment, ([key, value]) => ({ key, value: new TextEncoder().encode(value) })),
    mounts: [...mounts],
    labels: containerLabels(pod, container),
    annotations: containerAnnotations(pod, container, restartCount),
    logPath: containerLogPath(container.name, restartCount),
    stdin: container.stdin ?? false,
    stdinOnce: container.stdinOnce ?? false,
    tty: container.tty ?? false,
    linux: {
      resources: containerResources(pod, container, settings, host),
      securityContext: containerSecurityContext({
        pod,
        container,
        imageUser: image.user,
        settings,
        extraMaskedPaths: host.thermalThrottlePaths,
      }),
    },
  });
}
