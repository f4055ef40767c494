import type { StartStep } from '../../kubelet/events/start-steps.ts';
import { durationText } from '../../kubelet/explain/plain-text.ts';
import { textTable } from './text-table.ts';

const HEAD = ['STEP', 'COUNT', 'P50', 'P90', 'P99', 'MAX'];

/** The steps of the last hour; empty if there were none. */
export function startStepTable(steps: readonly StartStep[]): string {
  const rows = steps.flatMap(({ step, lastHour }) => {
    if (!lastHour) return [];
    const { count, p50Ms, p90Ms, p99Ms, maxMs } = lastHour;
    return [[step, String(count), ...[p50Ms, p90Ms, p99Ms, maxMs].map(durationText)]];
  });
  return rows.length === 0 ? '' : textTable([HEAD, ...rows]);
}
