import { ContainerStatsResponse } from '../../cri/generated/runtime-v1.ts';
import type { RuntimeService } from '../../cri/services.ts';
import { containerNotFound } from '../container/container-errors.ts';
import type { StatsReader } from '../stats/stats-reader.ts';
import type { RecordViews } from './select-records.ts';

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
