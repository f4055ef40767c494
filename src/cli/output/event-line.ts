import type { PodEvent } from '../../kubelet/events/pod-events.ts';
import { killCause } from '../../kubelet/explain/kill-cause.ts';
import { unwrapError } from '../../kubelet/explain/error-texts.ts';

/** What a user is told of an event: one line. */
export interface EventLine {
  readonly label: string;
  /** The container that it is about, where there is one. */
  readonly subject: string;
  readonly text: string;
  /** Whether it is worth a line each time it comes. */
  readonly always: boolean;
}

/** Warnings whose step says the same and more, or that say nothing on a machine without a cluster. */
const QUIET_WARNINGS: ReadonlySet<string> = new Set([
  'ErrImageNeverPull',
  'Failed',
  'FailedCreatePodSandBox',
  'FailedPostStartHook',
  'FailedPreStopHook',
  'InspectFailed',
  'MissingClusterDNS',
]);

const LABELS: Readonly<Record<string, string>> = { FailedMount: 'volumes', Unhealthy: 'probe' };

/** `undefined` for an event that is not worth a line. */
export function eventLine({ type, reason, message, fieldPath }: PodEvent): EventLine | undefined {
  const subject = /\{(.+)\}$/.exec(fieldPath ?? '')?.[1] ?? '';
  if (reason === 'Killing') {
    const cause = killCause(message);
    return cause === undefined ? undefined : { label: 'stopping', subject, text: cause, always: true };
  }
  if (type === 'Normal' || QUIET_WARNINGS.has(reason)) return undefined;
  if (reason === 'BackOff') {
    return { label: 'back-off', subject, text: 'keeps ending: each restart waits longer', always: false };
  }
  const text = unwrapError(message).replace(/:$/, '');
  return { label: LABELS[reason] ?? reason, subject, text, always: false };
}
