import { CriError } from '../cri-error.ts';
import {
  ContainerConfig,
  ContainerEventType,
  type ContainerFilter,
  LinuxContainerConfig,
  LinuxContainerResources,
  type Mount,
} from '../generated/runtime-v1.ts';
import { IMAGE_VOLUME_MOUNT_FAILED } from '../image-volume-error.ts';
import type { RuntimeService } from '../services.ts';
import { failToStart, kill, startProcess, terminate, waitForExit } from './container-lifecycle.ts';
import type { FakeWorld } from './fake-world.ts';
import { findImage } from './image-calls.ts';
import { labelMatcher } from './label-matcher.ts';
import { containerMessage, containerStatusMessage, criContainerState } from './messages.ts';
import type { FakeContainer, FakeSandbox } from './records.ts';

type ContainerCalls = Pick<
  RuntimeService,
  | 'createContainer'
  | 'startContainer'
  | 'stopContainer'
  | 'removeContainer'
  | 'containerStatus'
  | 'listContainers'
  | 'streamContainers'
  | 'updateContainerResources'
  | 'reopenContainerLog'
>;

export function containerCalls(world: FakeWorld): ContainerCalls {
  return {
    createContainer: async ({ podSandboxId, config }) => ({ containerId: create(world, podSandboxId, config).id }),

    async startContainer({ containerId }) {
      await start(world, knownContainer(world, containerId));
      return {};
    },

    async stopContainer({ containerId, timeout }, signal) {
      await stop(world, knownContainer(world, containerId), Number(timeout), signal);
      return {};
    },

    async removeContainer({ containerId }) {
      const container = world.containers.get(containerId);
      if (container) removeContainer(world, container);
      return {};
    },

    async containerStatus({ containerId }) {
      return { status: containerStatusMessage(world, knownContainer(world, containerId)), info: {} };
    },

    listContainers: async ({ filter }) => ({
      containers: select(world, filter).map((container) => containerMessage(world, container)),
    }),

    async *streamContainers({ filter }) {
      for (const container of select(world, filter)) yield { containers: [containerMessage(world, container)] };
    },

    async updateContainerResources({ containerId, linux }) {
      const container = world.containers.get(containerId);
      if (!container) throw new CriError('NotFound', 'failed to find container: not found');
      container.config.linux ??= LinuxContainerConfig.create();
      container.config.linux.resources = {
        ...(container.config.linux.resources ?? LinuxContainerResources.create()),
        ...linux,
      };
      return {};
    },

    async reopenContainerLog({ containerId }) {
      const { state: phase } = knownContainer(world, containerId);
      if (phase.phase !== 'running') throw new CriError('Unknown', 'container is not running');
      return {};
    },
  };
}

export function removeContainer(world: FakeWorld, container: FakeContainer): void {
  kill(world, container);
  world.containers.delete(container.id);
  world.onEffect({ kind: 'removed', container });
  world.publishEvent(ContainerEventType.CONTAINER_DELETED_EVENT, container.id, container.sandboxId);
}

export function knownContainer(world: FakeWorld, id: string): FakeContainer {
  const container = world.containers.get(id);
  if (container) return container;
  throw new CriError('NotFound', `an error occurred when try to find container ${JSON.stringify(id)}: not found`);
}

function create(world: FakeWorld, sandboxId: string, config: ContainerConfig | undefined): FakeContainer {
  const sandbox = world.sandboxes.get(sandboxId);
  if (!sandbox) throw new CriError('NotFound', `failed to find sandbox id ${JSON.stringify(sandboxId)}: not found`);
  if (sandbox.state !== 'ready') {
    throw new CriError(
      'NotFound',
      `failed to get sandbox container task: no running task found: task ${sandboxId} not found: not found`,
    );
  }
  if (!config?.metadata) throw new CriError('Unknown', 'container config must include metadata');
  reserveName(world, config, sandbox);
  const reference = config.image?.image ?? '';
  const image = findImage(world, reference);
  if (!image) throw new CriError('NotFound', `failed to resolve image ${JSON.stringify(reference)}: not found`);
  for (const mount of config.mounts) checkImageMount(world, mount);

  const { logDirectory } = sandbox.config;
  const container: FakeContainer = {
    id: world.newId(),
    sandboxId,
    config: ContainerConfig.fromPartial(config),
    imageId: image.id,
    logPath: logDirectory && config.logPath ? `${logDirectory}/${config.logPath}` : '',
    createdAt: world.timestamp(),
    state: { phase: 'created' },
  };
  world.containers.set(container.id, container);
  world.onEffect({ kind: 'created', container });
  world.publishEvent(ContainerEventType.CONTAINER_CREATED_EVENT, container.id, sandboxId);
  return container;
}

/** The rules of containerd 2 for a mount of an image. */
function checkImageMount(world: FakeWorld, { image, hostPath, readonly }: Mount): void {
  if (!image) return;
  if (hostPath !== '') throw imageMountError('Unknown', 'hostpath must be empty while mount image');
  if (!readonly) throw imageMountError('Unknown', 'readonly must be true while mount image');
  if (findImage(world, image.image)) return;
  throw imageMountError('NotFound', `failed to resolve image ${JSON.stringify(image.image)}: not found`);
}

function imageMountError(code: 'Unknown' | 'NotFound', text: string): CriError {
  return new CriError(code, `failed to mount image volume: ${IMAGE_VOLUME_MOUNT_FAILED}: ${text}`);
}

/** A sandbox has one container of a name and attempt at a time. */
function reserveName(world: FakeWorld, { metadata }: ContainerConfig, sandbox: FakeSandbox): void {
  const holder = world
    .containersOf(sandbox.id)
    .find(({ config }) => config.metadata?.name === metadata?.name && config.metadata?.attempt === metadata?.attempt);
  if (!holder) return;
  const pod = sandbox.config.metadata;
  const name = `${metadata?.name}_${pod?.name}_${pod?.namespace}_${pod?.uid}_${metadata?.attempt}`;
  throw new CriError(
    'Unknown',
    `failed to reserve container name "${name}": name "${name}" is reserved for "${holder.id}"`,
  );
}

async function start(world: FakeWorld, container: FakeContainer): Promise<void> {
  if (container.state.phase !== 'created') {
    const state = `CONTAINER_${container.state.phase.toUpperCase()}`;
    throw new CriError(
      'Unknown',
      `failed to set starting state for container "${container.id}": container is in ${state} state`,
    );
  }
  const sandbox = world.sandboxes.get(container.sandboxId);
  if (sandbox?.state !== 'ready') {
    failToStart(world, container, `sandbox container "${container.sandboxId}" is not running`);
  }
  await startProcess(world, container, sandbox);
}

/** A container that does not run is left as it is. */
async function stop(world: FakeWorld, container: FakeContainer, seconds: number, signal: AbortSignal): Promise<void> {
  if (container.state.phase !== 'running') return;
  const { process } = container.state;
  world.onEffect({ kind: 'terminating', container, graceSeconds: seconds });
  if (seconds > 0) {
    terminate(world, container);
    await waitForExit(world, process, seconds * 1000, signal);
  }
  kill(world, container);
}

function select(world: FakeWorld, filter: ContainerFilter | undefined): readonly FakeContainer[] {
  const hasLabels = labelMatcher(filter?.labelSelector);
  return [...world.containers.values()].filter(
    (container) =>
      hasLabels(container.config.labels) &&
      (!filter?.id || container.id.startsWith(filter.id)) &&
      (!filter?.podSandboxId || container.sandboxId.startsWith(filter.podSandboxId)) &&
      (!filter?.state || criContainerState(container) === filter.state.state),
  );
}
