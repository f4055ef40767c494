import type { PodEvent } from '../events/pod-events.ts';
import type { ProbeKind } from '../probes/probe-results.ts';
import { unwrapError } from './error-texts.ts';
import { isEventOf } from './explained-container.ts';
import { killingProbe } from './kill-cause.ts';
import { quotedSuffix } from './plain-text.ts';

/** The output of a failed check of this probe; `undefined` for other events. */
export function failedProbeOutput({ cause }: PodEvent, kind: ProbeKind): string | undefined {
  return cause?.kind === 'probeFailed' && cause.probe === kind ? cause.output : undefined;
}

/** `: "connection refused"`: the output of the check for which a container was killed; empty for other kills. */
export function killingProbeOutput(
  kill: PodEvent,
  container: string,
  events: readonly PodEvent[],
  sinceMs: number,
): string {
  const kind = killingProbe(kill);
  if (kind === undefined) return '';
  const outputs = events.flatMap((event) => {
    const isOfThisRun = isEventOf(event, container) && event.atMs >= sinceMs && event.atMs <= kill.atMs;
    return isOfThisRun ? (failedProbeOutput(event, kind) ?? []) : [];
  });
  return quotedSuffix(unwrapError(outputs.at(-1) ?? ''));
}
