import { CriError } from '../../cri/cri-error.ts';
import {
  ContainerStatsResponse,
  ListContainerStatsResponse,
  ListMetricDescriptorsResponse,
  ListPodSandboxMetricsResponse,
  ListPodSandboxStatsResponse,
  PodSandboxStatsResponse,
} from '../../cri/generated/runtime-v1.ts';
import type { RuntimeService } from '../../cri/services.ts';
import { containerNotFound } from '../container/container-errors.ts';
import { type MetricsReader, metricDescriptors } from '../stats/metrics-reader.ts';
import type { StatsReader } from '../stats/stats-reader.ts';
import { sandboxNotFound } from './sandbox-not-found.ts';
import { type RecordViews, selectContainers, selectSandboxes } from './select-records.ts';

export function containerStats(
  { containers }: Pick<RecordViews, 'containers'>,
  stats: StatsReader,
): RuntimeService['containerStats'] {
  return async ({ containerId }) => {
    const record = containers.find(containerId);
    if (!record) throw containerNotFound(containerId);
    const [figures] = await stats.readContainers([record]);
    return ContainerStatsResponse.create({ stats: figures });
  };
}

export function listContainerStats(records: RecordViews, stats: StatsReader): RuntimeService['listContainerStats'] {
  return async ({ filter }) =>
    ListContainerStatsResponse.create({ stats: await stats.readContainers(selectContainers(records, filter)) });
}

export function podSandboxStats(
  { sandboxes }: Pick<RecordViews, 'sandboxes'>,
  stats: StatsReader,
): RuntimeService['podSandboxStats'] {
  return async ({ podSandboxId }) => {
    const record = sandboxes.find(podSandboxId);
    if (!record || record.state.phase === 'creating') throw sandboxNotFound(podSandboxId);
    if (record.state.phase !== 'ready') {
      throw new CriError('Unavailable', `sandbox ${JSON.stringify(record.id)} is not ready: it has no statistics`);
    }
    const [figures] = await stats.readSandboxes([record]);
    return PodSandboxStatsResponse.create({ stats: figures });
  };
}

export function listPodSandboxStats(
  records: Pick<RecordViews, 'sandboxes'>,
  stats: StatsReader,
): RuntimeService['listPodSandboxStats'] {
  return async ({ filter }) =>
    ListPodSandboxStatsResponse.create({ stats: await stats.readSandboxes(selectSandboxes(records, filter)) });
}

export function listMetricDescriptors(): RuntimeService['listMetricDescriptors'] {
  return async () => ListMetricDescriptorsResponse.create({ descriptors: metricDescriptors() });
}

export function listPodSandboxMetrics(
  records: Pick<RecordViews, 'sandboxes'>,
  metrics: MetricsReader,
): RuntimeService['listPodSandboxMetrics'] {
  return async () =>
    ListPodSandboxMetricsResponse.create({
      podMetrics: await metrics.readSandboxes(selectSandboxes(records, undefined)),
    });
}
