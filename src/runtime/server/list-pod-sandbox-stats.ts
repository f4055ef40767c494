import { ListPodSandboxStatsResponse } from '../../cri/generated/runtime-v1.ts';
import type { RuntimeService } from '../../cri/services.ts';
import type { StatsReader } from '../stats/stats-reader.ts';
import { type RecordViews, selectSandboxes } from './select-records.ts';

export function listPodSandboxStats(
  records: Pick<RecordViews, 'sandboxes'>,
  stats: StatsReader,
): RuntimeService['listPodSandboxStats'] {
  return async ({ filter }) =>
    ListPodSandboxStatsResponse.create({ stats: await stats.readSandboxes(selectSandboxes(records, filter)) });
}
