import type { PodReport } from './agent-view.ts';
import type { Finding } from './finding.ts';
import { agoText, unwrapError, sentence } from './plain-text.ts';

/** As long as a failure goes on, it is told again more often than this. */
const RECENT_MS = 60_000;

/** Containers run with the content that their volumes had, as that of now cannot be had. */
export function staleVolumes({ steps, events }: PodReport, nowMs: number): Finding[] {
  const failed = events.findLast(({ reason }) => reason === 'FailedMount');
  const prepared = steps.findLast(({ name }) => name === 'volumes');
  if (failed === undefined || prepared?.outcome.kind !== 'done') return [];
  if (failed.atMs < prepared.startedMs || failed.atMs < nowMs - RECENT_MS) return [];
  const text = `its volumes could not be brought up to date ${agoText(failed.atMs, nowMs)}: ${unwrapError(failed.message)}`;
  const sentences = [sentence(text), 'Its containers keep what the volumes held before.'];
  return [{ kind: 'note', summary: 'its volumes are out of date', sentences }];
}
