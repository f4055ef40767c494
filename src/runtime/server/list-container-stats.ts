import { ListContainerStatsResponse } from '../../cri/generated/runtime-v1.ts';
import type { RuntimeService } from '../../cri/services.ts';
import type { StatsReader } from '../stats/stats-reader.ts';
import { type RecordViews, selectContainers } from './select-records.ts';

export function listContainerStats(records: RecordViews, stats: StatsReader): RuntimeService['listContainerStats'] {
  return async ({ filter }) =>
    ListContainerStatsResponse.create({ stats: await stats.readContainers(selectContainers(records, filter)) });
}
