import type { Container, Pod } from '../../../api/generated/core-v1.ts';
import { errorText } from '../../../base/error-text.ts';
import { ContainerConfig, type Mount, type UserNamespace } from '../../../cri/generated/runtime-v1.ts';
import { PodError } from '../../pod/pod-error.ts';
import { containerLogPath } from '../../pod/pod-paths.ts';
import { containerResources, type ResourceSettings } from '../../resources/container-resources.ts';
import type { HostFacts } from '../../resources/host-facts.ts';
import { containerAnnotations, containerLabels } from './annotations.ts';
import { type Environment, expandIn } from './environment.ts';
import { containerSecurityContext, type ImageUser, type SecuritySettings } from './security-context.ts';
import { type StopSignalSettings, stopSignalOf } from './stop-signal.ts';

/** What of the node's settings shows in a container. */
export interface ContainerSettings extends ResourceSettings, SecuritySettings, StopSignalSettings {
  readonly hostIPs: readonly string[];
  /** The feature gate EnvFiles; absent: on. */
  readonly envFiles?: boolean | undefined;
}

export interface ContainerConfigInput {
  readonly pod: Pod;
  readonly container: Container;
  /** How often the container was started before. */
  readonly restartCount: number;
  /** What the runtime calls the image, and the user that the image asks for: from `ensureImage`. */
  readonly image: { readonly ref: string; readonly user: ImageUser };
  /** The container whose processes an ephemeral one shall see. */
  readonly targetId?: string | undefined;
  /** Primary first; the node's own for a pod on the host network. */
  readonly podIPs: readonly string[];
  /** From `containerMounts`. */
  readonly mounts: readonly Mount[];
  /** That of the sandbox; absent: the machine's users. */
  readonly userNamespace?: UserNamespace | undefined;
  /** From `containerEnvironment`. */
  readonly environment: Environment;
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
    throw new PodError('CreateContainerConfigError', errorText(error), {
      cause: error,
      eventMessage: `Error: ${errorText(error)}`,
    });
  }
}

function buildConfig(input: ContainerConfigInput): ContainerConfig {
  const { pod, container, restartCount, image, mounts, environment, settings, host } = input;
  const expand = (text: string): string => expandIn(environment, text);
  return ContainerConfig.fromPartial({
    metadata: { name: container.name, attempt: restartCount },
    image: { image: image.ref, userSpecifiedImage: container.image ?? '' },
    command: (container.command ?? []).map(expand),
    args: (container.args ?? []).map(expand),
    workingDir: container.workingDir ?? '',
    envs: Array.from(environment, ([key, value]) => ({ key, value })),
    mounts: mounts.map((mount) => ({ ...mount, ...mountIds(input.userNamespace) })),
    labels: containerLabels(pod, container),
    annotations: containerAnnotations(pod, container, restartCount),
    logPath: containerLogPath(container.name, restartCount),
    stdin: container.stdin ?? false,
    stdinOnce: container.stdinOnce ?? false,
    tty: container.tty ?? false,
    stopSignal: stopSignalOf(container, settings),
    linux: {
      resources: containerResources(pod, container, settings, host),
      securityContext: containerSecurityContext({
        pod,
        container,
        imageUser: image.user,
        targetId: input.targetId,
        userNamespace: input.userNamespace,
        settings,
        extraMaskedPaths: host.thermalThrottlePaths,
      }),
    },
  });
}

/** What a volume holds belongs to the pod's own users, whoever they are on this machine. */
function mountIds(users: UserNamespace | undefined): Pick<Mount, 'uidMappings' | 'gidMappings'> {
  return { uidMappings: users?.uids ?? [], gidMappings: users?.gids ?? [] };
}
