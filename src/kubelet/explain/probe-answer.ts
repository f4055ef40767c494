import type { PodEvent } from '../events/pod-events.ts';
import type { ProbeKind } from '../probes/probe-results.ts';
import { isEventOf } from './explained-container.ts';
import { errorText, lastWords } from './plain-words.ts';

/** What a check of a probe answered, where the event tells of one that failed; `undefined` for other events. */
export function failedCheck({ reason, message }: PodEvent, kind: ProbeKind): string | undefined {
  if (reason !== 'Unhealthy') return undefined;
  return new RegExp(`^${kind} probe (?:failed|errored[^:]*): ([^]*)$`, 'i').exec(message)?.[1];
}

/** `: "connection refused"`, what the probe answered for which a container was killed; nothing for another cause. */
export function fatalAnswer(kill: PodEvent, container: string, events: readonly PodEvent[], sinceMs: number): string {
  const kind = killingProbe(kill.message);
  if (kind === undefined) return '';
  const answers = events.flatMap((event) => {
    const isOfThisRun = isEventOf(event, container) && event.atMs >= sinceMs && event.atMs <= kill.atMs;
    return isOfThisRun ? (failedCheck(event, kind) ?? []) : [];
  });
  return lastWords(errorText(answers.at(-1) ?? ''));
}

/** The probe whose failure a `Killing` event tells of. */
export function killingProbe(eventMessage: string): 'liveness' | 'startup' | undefined {
  if (eventMessage.includes('failed liveness probe')) return 'liveness';
  return eventMessage.includes('failed startup probe') ? 'startup' : undefined;
}
