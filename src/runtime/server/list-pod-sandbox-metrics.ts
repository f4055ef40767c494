import { ListPodSandboxMetricsResponse } from '../../cri/generated/runtime-v1.ts';
import type { RuntimeService } from '../../cri/services.ts';
import type { MetricsReader } from '../stats/metrics-reader.ts';
import { type RecordViews, selectSandboxes } from './select-records.ts';

export function listPodSandboxMetrics(
  records: Pick<RecordViews, 'sandboxes'>,
  metrics: MetricsReader,
): RuntimeService['listPodSandboxMetrics'] {
  return async () =>
    ListPodSandboxMetricsResponse.create({
      podMetrics: await metrics.readSandboxes(selectSandboxes(records, undefined)),
    });
}
