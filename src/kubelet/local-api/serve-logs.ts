import type { FileSystem } from '../../host/file-system.ts';
import type { ServerResponse } from '../../host/network.ts';
import type { AgentView, PodReport } from '../explain/agent-view.ts';
import { logText } from '../logs/log-text.ts';
import { missingLogMessage } from '../logs/missing-log.ts';
import { readLogs } from '../logs/read-logs.ts';
import { newestContainer, type ObservedContainer } from '../pod/observed-pod.ts';
import { rejectionMessage } from '../pod/pod-failure.ts';
import { isTerminal } from '../status/pod-phase.ts';
import { ApiError } from './api-error.ts';
import { chooseContainer } from './choose-container.ts';
import { findPod } from './find-pod.ts';
import { type LogsQuery, NOTE_HEADER } from './local-api-types.ts';
import { waitForContainerEnd } from './wait-for-container-end.ts';

/** Streams the log of one container. The log file of a running container that is followed may not exist yet. */
export async function serveLogs(
  { view, fs }: { readonly view: AgentView; readonly fs: FileSystem },
  query: LogsQuery,
  signal: AbortSignal,
): Promise<ServerResponse> {
  const report = findPod(view, query.pod);
  const { name, note } = chooseContainer(report.pod, query.container);
  const container = query.previous ? previousContainer(report, name) : startedContainer(report, name);
  const mayCome = query.follow && container.state === 'running';
  const missing = mayCome ? undefined : await missingLogMessage(container.logPath, fs);
  if (missing !== undefined) throw new ApiError('NotFound', missing);
  const { uid } = report.pod.metadata;
  const answered = new AbortController();
  const both = AbortSignal.any([signal, answered.signal]);
  const ended = query.follow ? waitForContainerEnd(view, uid, container.id, both) : undefined;
  const { follow, tailLines, sinceMs, timestamps, limitBytes } = query;
  const tail = tailLines === undefined ? undefined : ({ count: tailLines, of: 'lines' } as const);
  const lines = readLogs({ fs }, container.logPath, { follow, tail, sinceMs, ended }, both);
  return {
    status: 200,
    headers: { 'content-type': 'text/plain; charset=utf-8', ...(note && { [NOTE_HEADER]: note }) },
    body: abortAfter(logText(lines, { timestamps, limitBytes }), answered),
  };
}

/** Aborts `end` when the iteration ends, however it ends. */
async function* abortAfter<T>(items: AsyncIterable<T>, end: AbortController): AsyncGenerator<T, void, void> {
  try {
    yield* items;
  } finally {
    end.abort();
  }
}

function startedContainer(report: PodReport, name: string): ObservedContainer {
  const container = newestContainer(report.observed, name);
  if (container !== undefined && container.state !== 'created') return container;
  if (container === undefined) throwIfEnded(report);
  const reason = waitingReason(report, name) ?? 'ContainerCreating';
  throw new ApiError(
    'BadRequest',
    `container "${name}" in pod "${report.pod.metadata.name}" is waiting to start: ${reason}`,
  );
}

function previousContainer(report: PodReport, name: string): ObservedContainer {
  const [newest, previous] = report.observed?.containers.filter((container) => container.name === name) ?? [];
  // A container that ended and waits for its restart is the previous one itself.
  const isBetween = newest?.state === 'exited' && waitingReason(report, name) !== undefined;
  const found = isBetween ? newest : previous;
  if (found !== undefined) return found;
  throw new ApiError(
    'BadRequest',
    `previous terminated container "${name}" in pod "${report.pod.metadata.name}" not found`,
  );
}

/** Throws for a pod that has ended or was rejected: a container that it does not have will not be created. */
export function throwIfEnded({ pod, status }: PodReport): void {
  if (!isTerminal(status.phase)) return;
  const { reason, message = '' } = status;
  const rejection = rejectionMessage(status);
  const what = rejection === undefined ? `has ended (${status.phase})` : 'was rejected by this node';
  const why = [reason, rejection ?? message].filter(Boolean).join(': ');
  throw new ApiError('Conflict', `pod "${pod.metadata.name}" ${what}${why === '' ? '' : `: ${why}`}`);
}

/** The waiting reason of a container in the pod's status. */
export function waitingReason({ status }: PodReport, name: string): string | undefined {
  const statuses = [...(status.containerStatuses ?? []), ...(status.initContainerStatuses ?? [])];
  return statuses.find((container) => container.name === name)?.state?.waiting?.reason;
}
