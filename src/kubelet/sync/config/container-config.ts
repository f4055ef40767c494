import type { Container, Pod } from '../../../api/generated/core-v1.ts';
import { errorText } from '../../../base/error-text.ts';
import { ContainerConfig, type Device, type Mount, type UserNamespace } from '../../../cri/generated/runtime-v1.ts';
import type { ContainerRunOptions } from '../../pod/container-run-options.ts';
import { PodError } from '../../pod/pod-error.ts';
import { containerLogPath } from '../../pod/pod-paths.ts';
import { containerResources, type ResourceSettings } from '../../resources/container-resources.ts';
import type { HostFacts } from '../../resources/host-facts.ts';
import { containerAnnotations, containerLabels } from './annotations.ts';
import { type Environment, expandReferences } from './environment.ts';
import { containerSecurityContext, type ImageUser, type SecuritySettings } from './security-context.ts';
import { type StopSignalSettings, stopSignalOf } from './stop-signal.ts';

/** Node settings that affect containers. */
export interface ContainerSettings extends ResourceSettings, SecuritySettings, StopSignalSettings {
  readonly hostIPs: readonly string[];
  /** The feature gate EnvFiles; absent: on. */
  readonly envFiles?: boolean | undefined;
}

export interface ContainerConfigInput {
  readonly pod: Pod;
  readonly container: Container;
  /** Number of earlier starts. */
  readonly restartCount: number;
  /** The runtime's image reference and the image's user, from `ensureImage`. */
  readonly image: { readonly ref: string; readonly user: ImageUser };
  /** The container whose process namespace an ephemeral container joins. */
  readonly targetId?: string | undefined;
  /** Primary first; the node's addresses for a pod on the host network. */
  readonly podIPs: readonly string[];
  /** From `containerMounts`. */
  readonly mounts: readonly Mount[];
  /** From `containerDevices`. */
  readonly devices: readonly Device[];
  /** What the managers of the machine's resources add; absent: nothing. */
  readonly runOptions?: ContainerRunOptions | undefined;
  /** Of its pod's persistent volumes, from `PodVolumes.extraGroups`. */
  readonly extraGroups: readonly number[];
  /** The sandbox's user namespace; absent: the host's. */
  readonly userNamespace?: UserNamespace | undefined;
  /** From `containerEnvironment`. */
  readonly environment: Environment;
  readonly settings: ContainerSettings;
  readonly host: HostFacts;
}

/**
 * The CRI configuration of a container. Throws a `PodError` (`CreateContainerConfigError`) for an invalid container.
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
  const { pod, container, restartCount, image, runOptions = {}, settings, host } = input;
  const environment = new Map([...textBytes(runOptions.env), ...input.environment]);
  const mounts = [...(runOptions.mounts ?? []), ...input.mounts];
  const expand = (text: string): string => expandReferences(environment, text);
  return ContainerConfig.fromPartial({
    metadata: { name: container.name, attempt: restartCount },
    image: { image: image.ref, userSpecifiedImage: container.image ?? '' },
    command: (container.command ?? []).map(expand),
    args: (container.args ?? []).map(expand),
    workingDir: container.workingDir ?? '',
    envs: Array.from(environment, ([key, value]) => ({ key, value })),
    mounts: mounts.map((mount) => ({ ...mount, ...mountIds(input.userNamespace) })),
    devices: [...(runOptions.devices ?? []), ...input.devices],
    CDIDevices: (runOptions.cdiDevices ?? []).map((name) => ({ name })),
    labels: containerLabels(pod, container),
    annotations: {
      ...Object.fromEntries(runOptions.annotations ?? []),
      ...containerAnnotations(pod, container, restartCount),
    },
    logPath: containerLogPath(container.name, restartCount),
    stdin: container.stdin ?? false,
    stdinOnce: container.stdinOnce ?? false,
    tty: container.tty ?? false,
    stopSignal: stopSignalOf(container, settings),
    linux: {
      resources: containerResources(pod, container, settings, host, runOptions),
      securityContext: containerSecurityContext({
        pod,
        container,
        imageUser: image.user,
        targetId: input.targetId,
        userNamespace: input.userNamespace,
        extraGroups: input.extraGroups,
        settings,
        extraMaskedPaths: host.thermalThrottlePaths,
      }),
    },
  });
}

function textBytes(env: ReadonlyMap<string, string> = new Map()): [string, Uint8Array][] {
  return Array.from(env, ([name, value]) => [name, Buffer.from(value)]);
}

/** Volume files are owned by ids of the pod's user namespace. */
function mountIds(users: UserNamespace | undefined): Pick<Mount, 'uidMappings' | 'gidMappings'> {
  return { uidMappings: users?.uids ?? [], gidMappings: users?.gids ?? [] };
}
