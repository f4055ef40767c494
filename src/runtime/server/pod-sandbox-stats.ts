import { CriError } from '../../cri/cri-error.ts';
import { PodSandboxStatsResponse } from '../../cri/generated/runtime-v1.ts';
import type { RuntimeService } from '../../cri/services.ts';
import type { StatsReader } from '../stats/stats-reader.ts';
import { sandboxNotFound } from './sandbox-not-found.ts';
import type { RecordViews } from './select-records.ts';

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
