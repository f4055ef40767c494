import { CriError } from '../cri-error.ts';
import { ContainerStats, PodSandboxStats } from '../generated/runtime-v1.ts';
import type { RuntimeService } from '../services.ts';
import type { FakeWorld } from './fake-world.ts';
import { labelMatcher } from './label-matcher.ts';
import type { FakeContainer, FakeSandbox } from './records.ts';

type StatsCalls = Pick<
  RuntimeService,
  | 'containerStats'
  | 'listContainerStats'
  | 'streamContainerStats'
  | 'podSandboxStats'
  | 'listPodSandboxStats'
  | 'streamPodSandboxStats'
  | 'listMetricDescriptors'
  | 'listPodSandboxMetrics'
  | 'streamPodSandboxMetrics'
>;

type ContainerFilter = Parameters<RuntimeService['listContainerStats']>[0]['filter'];
type SandboxFilter = Parameters<RuntimeService['listPodSandboxStats']>[0]['filter'];

const DEFAULT_MEMORY_BYTES = 1024 * 1024;

export function statsCalls(world: FakeWorld): StatsCalls {
  return {
    async containerStats({ containerId }) {
      const container = world.containers.get(containerId);
      if (!container) throw new CriError('NotFound', 'failed to find container: not found');
      if (container.state.phase !== 'running') throw new CriError('Unknown', 'unexpected metrics response: []');
      return { stats: containerStats(world, container) };
    },

    listContainerStats: async ({ filter }) => ({
      stats: containers(world, filter).map((container) => containerStats(world, container)),
    }),

    async *streamContainerStats({ filter }) {
      for (const container of containers(world, filter)) yield { containerStats: [containerStats(world, container)] };
    },

    async podSandboxStats({ podSandboxId }) {
      const sandbox = world.sandboxes.get(podSandboxId);
      if (sandbox) return { stats: sandboxStats(world, sandbox) };
      throw new CriError('NotFound', `an error occurred when trying to find sandbox ${podSandboxId}: not found`);
    },

    listPodSandboxStats: async ({ filter }) => ({
      stats: sandboxes(world, filter).map((sandbox) => sandboxStats(world, sandbox)),
    }),

    async *streamPodSandboxStats({ filter }) {
      for (const sandbox of sandboxes(world, filter)) yield { podSandboxStats: [sandboxStats(world, sandbox)] };
    },

    listMetricDescriptors: async () => ({ descriptors: [] }),
    listPodSandboxMetrics: async () => ({ podMetrics: [] }),
    async *streamPodSandboxMetrics() {},
  };
}

function containerStats(world: FakeWorld, { id, config, state: phase }: FakeContainer): ContainerStats {
  const { metadata, labels, annotations } = config;
  const attributes = { id, metadata, labels, annotations };
  if (phase.phase !== 'running') return ContainerStats.fromPartial({ attributes });
  const timestamp = world.timestamp();
  const bytes = { value: BigInt(phase.process.behaviour.memoryBytes ?? DEFAULT_MEMORY_BYTES) };
  return ContainerStats.fromPartial({
    attributes,
    cpu: { timestamp, usageCoreNanoSeconds: { value: 0n }, usageNanoCores: { value: 0n } },
    memory: { timestamp, workingSetBytes: bytes, usageBytes: bytes, rssBytes: bytes },
    writableLayer: { timestamp, usedBytes: { value: 0n }, inodesUsed: { value: 0n } },
  });
}

function sandboxStats(world: FakeWorld, { id, config }: FakeSandbox): PodSandboxStats {
  const { metadata, labels, annotations } = config;
  const members = world.containersOf(id).map((container) => containerStats(world, container));
  const total = members.reduce((sum, { memory }) => sum + (memory?.workingSetBytes?.value ?? 0n), 0n);
  const timestamp = world.timestamp();
  return PodSandboxStats.fromPartial({
    attributes: { id, metadata, labels, annotations },
    linux: {
      cpu: { timestamp, usageCoreNanoSeconds: { value: 0n }, usageNanoCores: { value: 0n } },
      memory: { timestamp, workingSetBytes: { value: total } },
      containers: members,
    },
  });
}

function containers(world: FakeWorld, filter: ContainerFilter): readonly FakeContainer[] {
  const hasLabels = labelMatcher(filter?.labelSelector);
  return [...world.containers.values()].filter(
    ({ id, sandboxId, config }) =>
      (!filter?.id || id === filter.id) &&
      (!filter?.podSandboxId || sandboxId === filter.podSandboxId) &&
      hasLabels(config.labels),
  );
}

function sandboxes(world: FakeWorld, filter: SandboxFilter): readonly FakeSandbox[] {
  const hasLabels = labelMatcher(filter?.labelSelector);
  return [...world.sandboxes.values()].filter(
    ({ id, config }) => (!filter?.id || id === filter.id) && hasLabels(config.labels),
  );
}
