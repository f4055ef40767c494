import type { PodEvent } from '../../kubelet/events/pod-events.ts';
import { unwrapError } from '../../kubelet/explain/error-texts.ts';
import { killText } from '../../kubelet/explain/kill-cause.ts';

/** The line that shows an event to a user. */
export interface EventLine {
  readonly label: string;
  /** The container of the event; empty for events of the pod. */
  readonly subject: string;
  readonly text: string;
  /** Whether each repetition is shown. */
  readonly always: boolean;
}

/** Warnings that repeat the error of a step, or that do not matter on a machine without a cluster. */
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

/** Returns `undefined` for an event that is not shown. */
export function eventLine(event: PodEvent): EventLine | undefined {
  const { type, reason, message, fieldPath } = event;
  const subject = /\{(.+)\}$/.exec(fieldPath ?? '')?.[1] ?? '';
  if (reason === 'Killing') {
    const text = killText(event);
    return text === undefined ? undefined : { label: 'stopping', subject, text, always: true };
  }
  if (type === 'Normal' || QUIET_WARNINGS.has(reason)) return undefined;
  if (reason === 'BackOff') {
    return { label: 'back-off', subject, text: 'keeps ending: each restart waits longer', always: false };
  }
  const text = unwrapError(message).replace(/:$/, '');
  return { label: LABELS[reason] ?? reason, subject, text, always: false };
}
