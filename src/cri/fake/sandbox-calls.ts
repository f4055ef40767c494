import { CriError } from '../cri-error.ts';
import {
  PodSandboxConfig as Config,
  ContainerEventType,
  NamespaceMode,
  type PodSandboxConfig,
  type PodSandboxFilter,
} from '../generated/runtime-v1.ts';
import type { RuntimeService } from '../services.ts';
import { removeContainer } from './container-calls.ts';
import { kill } from './container-lifecycle.ts';
import type { FakeWorld } from './fake-world.ts';
import { labelMatcher } from './label-matcher.ts';
import { criSandboxState, sandboxMessage, sandboxStatusMessage } from './messages.ts';
import type { FakeSandbox } from './records.ts';

type SandboxCalls = Pick<
  RuntimeService,
  | 'runPodSandbox'
  | 'stopPodSandbox'
  | 'removePodSandbox'
  | 'podSandboxStatus'
  | 'listPodSandbox'
  | 'streamPodSandboxes'
  | 'updatePodSandboxResources'
>;

export function sandboxCalls(world: FakeWorld): SandboxCalls {
  return {
    runPodSandbox: async ({ config, runtimeHandler }) => ({ podSandboxId: run(world, config, runtimeHandler).id }),

    async stopPodSandbox({ podSandboxId }) {
      const sandbox = world.sandboxes.get(podSandboxId);
      if (!sandbox) throw notFound(`an error occurred when try to find sandbox ${JSON.stringify(podSandboxId)}`);
      stop(world, sandbox);
      return {};
    },

    async removePodSandbox({ podSandboxId }) {
      const sandbox = world.sandboxes.get(podSandboxId);
      if (sandbox) remove(world, sandbox);
      return {};
    },

    async podSandboxStatus({ podSandboxId }) {
      const sandbox = world.sandboxes.get(podSandboxId);
      if (!sandbox) throw notFound('an error occurred when try to find sandbox');
      return { status: sandboxStatusMessage(sandbox), info: {}, containersStatuses: [], timestamp: 0n };
    },

    listPodSandbox: async ({ filter }) => ({ items: select(world, filter).map(sandboxMessage) }),

    async *streamPodSandboxes({ filter }) {
      for (const sandbox of select(world, filter)) yield { podSandboxes: [sandboxMessage(sandbox)] };
    },

    async updatePodSandboxResources({ podSandboxId, resources, overhead }) {
      const sandbox = world.sandboxes.get(podSandboxId);
      if (!sandbox) throw notFound('failed to find sandbox');
      const linux = sandbox.config.linux;
      if (linux) Object.assign(linux, { resources, overhead });
      return {};
    },
  };
}

/** The pause process exited: containers and network stay until the sandbox is stopped. */
export function markSandboxLost(world: FakeWorld, sandbox: FakeSandbox): void {
  if (sandbox.state === 'notReady') return;
  sandbox.state = 'notReady';
  world.onEffect({ kind: 'sandboxLost', sandbox });
  world.publishEvent(ContainerEventType.CONTAINER_STOPPED_EVENT, sandbox.id, sandbox.id);
}

function stop(world: FakeWorld, sandbox: FakeSandbox): void {
  for (const container of world.containersOf(sandbox.id)) kill(world, container);
  sandbox.ip = undefined;
  markSandboxLost(world, sandbox);
  world.onEffect({ kind: 'sandboxStopped', sandbox });
}

function run(world: FakeWorld, config: PodSandboxConfig | undefined, runtimeHandler: string): FakeSandbox {
  if (!config?.metadata) throw new CriError('Unknown', 'sandbox config must include metadata');
  if (runtimeHandler !== '' && runtimeHandler !== 'runc') {
    throw new CriError(
      'Unknown',
      `failed to get sandbox runtime: no runtime for ${JSON.stringify(runtimeHandler)} is configured`,
    );
  }
  const name = sandboxName(config);
  const holder = [...world.sandboxes.values()].find((other) => sandboxName(other.config) === name);
  if (holder) {
    throw new CriError(
      'Unknown',
      `failed to reserve sandbox name "${name}": name "${name}" is reserved for "${holder.id}"`,
    );
  }
  const sandbox: FakeSandbox = {
    id: world.newId(),
    config: Config.fromPartial(config),
    runtimeHandler,
    createdAt: world.timestamp(),
    state: 'ready',
    ip: usesHostNetwork(config) ? undefined : world.freeAddress(),
  };
  world.sandboxes.set(sandbox.id, sandbox);
  world.onEffect({ kind: 'sandboxReady', sandbox });
  world.publishEvent(ContainerEventType.CONTAINER_CREATED_EVENT, sandbox.id, sandbox.id);
  world.publishEvent(ContainerEventType.CONTAINER_STARTED_EVENT, sandbox.id, sandbox.id);
  return sandbox;
}

/** Stops a ready sandbox first, and removes its containers. */
function remove(world: FakeWorld, sandbox: FakeSandbox): void {
  stop(world, sandbox);
  for (const container of world.containersOf(sandbox.id)) removeContainer(world, container);
  world.sandboxes.delete(sandbox.id);
  world.onEffect({ kind: 'sandboxRemoved', sandbox });
  world.publishEvent(ContainerEventType.CONTAINER_DELETED_EVENT, sandbox.id, sandbox.id);
}

function select(world: FakeWorld, filter: PodSandboxFilter | undefined): readonly FakeSandbox[] {
  const hasLabels = labelMatcher(filter?.labelSelector);
  return [...world.sandboxes.values()].filter(
    (sandbox) =>
      hasLabels(sandbox.config.labels) &&
      (!filter?.id || sandbox.id.startsWith(filter.id)) &&
      (!filter?.state || criSandboxState(sandbox) === filter.state.state),
  );
}

export function sandboxName({ metadata }: PodSandboxConfig): string {
  return `${metadata?.name}_${metadata?.namespace}_${metadata?.uid}_${metadata?.attempt}`;
}

function usesHostNetwork({ linux }: PodSandboxConfig): boolean {
  return linux?.securityContext?.namespaceOptions?.network === NamespaceMode.NODE;
}

function notFound(what: string): CriError {
  return new CriError('NotFound', `${what}: not found`);
}
