import { formatPod } from '../../api/pod-names.ts';
import type { PodEvents } from '../events/pod-events.ts';
import type { SourceError, SourceName } from './pod-source.ts';

/** Records the events of pods that are ignored because another pod of their name comes first in the same source. */
export function recordDuplicates(
  source: SourceName,
  errors: readonly SourceError[],
  events: Pick<PodEvents, 'record'>,
): void {
  for (const { duplicate } of errors) {
    if (!duplicate) continue;
    const { name } = duplicate.metadata;
    const message = `Error validating pod ${formatPod(duplicate)} from ${source} due to duplicate pod name "${name}", ignoring`;
    events.record(duplicate, 'Warning', 'FailedValidation', message);
  }
}
