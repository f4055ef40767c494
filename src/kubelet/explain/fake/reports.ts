import type { Container, ContainerState, ContainerStatus, PodStatus } from '../../../api/generated/core-v1.ts';
import { formatTime } from '../../../base/rfc3339.ts';
import type { PodEvent } from '../../events/pod-events.ts';
import type { Step } from '../../events/timeline.ts';
import type { ErrorCause, EventCause, KillCause } from '../../pod/pod-cause.ts';
import type { WorkerProgress } from '../../workers/worker-progress.ts';
import type { PodReport } from '../agent-view.ts';

/** The time of the explanation. */
export const NOW = 1_767_225_600_000;

/** Wall-clock milliseconds. */
export function ago(seconds: number): number {
  return NOW - seconds * 1000;
}

export const QUIET: WorkerProgress = {
  phaseSinceMs: ago(600),
  removed: false,
  nextSyncMs: undefined,
  backoffEndsMs: undefined,
  graceEndsMs: undefined,
  lastError: undefined,
};

/** Changes to the pod `hello`, whose container `web` runs and is ready for 10 minutes. */
export interface Change {
  readonly web?: Partial<Container>;
  readonly spec?: Partial<PodReport['pod']['spec']>;
  readonly metadata?: Partial<PodReport['pod']['metadata']>;
  /** Of the container `web`. */
  readonly container?: Partial<ContainerStatus>;
  readonly status?: PodStatus;
  /** Seconds since the pod stopped being ready. */
  readonly unreadyFor?: number;
  readonly progress?: Partial<WorkerProgress>;
  readonly report?: Partial<PodReport>;
}

export function reportWith({
  web,
  spec,
  metadata,
  container,
  status,
  unreadyFor,
  progress,
  report,
}: Change): PodReport {
  const ready = unreadyFor === undefined;
  const since = formatTime(ago(unreadyFor ?? 600));
  const condition = { type: 'Ready', status: ready ? 'True' : 'False', lastTransitionTime: since };
  return {
    pod: {
      metadata: { name: 'hello', namespace: 'default', uid: 'u1', ...metadata },
      spec: { containers: [{ name: 'web', image: 'nginx:1', ...web }], nodeName: 'box', ...spec },
    },
    status: {
      phase: 'Running',
      startTime: formatTime(ago(600)),
      conditions: [condition],
      containerStatuses: [{ ...statusOf('web', running(600)), ready, ...container }],
      ...status,
    },
    observed: undefined,
    worker: 'syncing',
    steps: [],
    events: [],
    progress: { ...QUIET, ...progress },
    ...report,
  };
}

export function statusOf(name: string, state: ContainerState, more: Partial<ContainerStatus> = {}): ContainerStatus {
  return { name, image: 'nginx:1', imageID: '', restartCount: 0, ready: false, started: true, state, ...more };
}

export function running(seconds: number): ContainerState {
  return { running: { startedAt: formatTime(ago(seconds)) } };
}

export function ended(seconds: number, exitCode: number, message?: string, reason = 'Error'): ContainerState {
  return { terminated: { exitCode, reason, finishedAt: formatTime(ago(seconds)), ...(message && { message }) } };
}

export function waiting(reason: string, message?: string): ContainerState {
  return { waiting: { reason, ...(message && { message }) } };
}

/** Without `tookMs` the step is running. */
export function step(
  name: Step['name'],
  subject: string | undefined,
  startedMs: number,
  tookMs?: number,
  error?: string,
  cause?: ErrorCause,
): Step {
  if (tookMs === undefined) return { name, subject, startedMs, outcome: { kind: 'running' } };
  const outcome =
    error === undefined ? ({ kind: 'done', tookMs } as const) : ({ kind: 'failed', tookMs, error, cause } as const);
  return { name, subject, startedMs, outcome };
}

export function event(
  reason: string,
  message: string,
  atMs: number,
  { container = 'web', cause }: { readonly container?: string; readonly cause?: EventCause } = {},
): PodEvent {
  return { type: 'Warning', reason, message, fieldPath: `spec.containers{${container}}`, atMs, cause };
}

/** A `Killing` event. */
export function killed(cause: KillCause, atMs: number, container = 'web'): PodEvent {
  return event('Killing', '', atMs, { container, cause: { kind: 'kill', cause } });
}
