import { allContainers } from '../../api/all-containers.ts';
import type { PodStatus } from '../../api/generated/core-v1.ts';
import type { Clock } from '../../host/clock.ts';
import type { FileSystem } from '../../host/file-system.ts';
import type { ServerResponse } from '../../host/network.ts';
import type { AgentView, PodReport } from '../explain/agent-view.ts';
import { waitForContainerEnd } from '../local-api/wait-for-container-end.ts';
import type { LogLine } from '../logs/log-lines.ts';
import { logText } from '../logs/log-text.ts';
import { missingLogMessage } from '../logs/missing-log.ts';
import { readLogs } from '../logs/read-logs.ts';
import type { ObservedContainer } from '../pod/observed-pod.ts';
import { findPodByName } from './find-pod-by-name.ts';
import { logContainerId } from './log-container.ts';
import { type LogQuery, logQuery } from './log-query.ts';
import { HttpError } from './responses.ts';

export interface ContainerLogsDeps {
  readonly view: AgentView;
  readonly fs: FileSystem;
  readonly clock: Pick<Clock, 'now'>;
  /** The feature gate PodLogsQuerySplitStreams. */
  readonly splitStreams: boolean;
}

export interface ContainerTarget {
  readonly namespace: string;
  readonly pod: string;
  readonly container: string;
}

/** Serves `/containerLogs`. Errors after the container is found are the body of a response with status 200. */
export async function serveContainerLogs(
  { view, fs, clock, splitStreams }: ContainerLogsDeps,
  { namespace, pod: name, container }: ContainerTarget,
  asked: URLSearchParams,
  signal: AbortSignal,
): Promise<ServerResponse> {
  const query = logQuery(asked, splitStreams);
  const report = findPodByName(view, namespace, name);
  if (!report) throw new HttpError(404, `pod "${name}" does not exist`);
  if (!allContainers(report.pod.spec).some((each) => each.name === container)) {
    throw new HttpError(404, `container "${container}" not found in pod "${name}"`);
  }
  const containerId = logContainerId(name, knownStatus(report), container, query.previous);
  const observed = observedById(report, containerId);
  if (!observed) return { status: 200, body: `unable to retrieve container logs for ${containerId}` };
  const mayCome = query.follow && observed.state === 'running';
  const missing = mayCome ? undefined : await missingLogMessage(observed.logPath, fs);
  if (missing !== undefined) return { status: 200, body: missing };
  return { status: 200, body: logChunks({ view, fs, clock }, report, observed, query, signal) };
}

/** Right after the start of the agent, only the status at the API server is known. */
function knownStatus({ pod, status }: PodReport): PodStatus {
  return status.containerStatuses === undefined ? (pod.status ?? status) : status;
}

async function* logChunks(
  { view, fs, clock }: Omit<ContainerLogsDeps, 'splitStreams'>,
  { pod }: PodReport,
  { id, logPath }: ObservedContainer,
  query: LogQuery,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array, void, void> {
  const { follow, tailLines, timestamps, limitBytes, stream } = query;
  const answered = new AbortController();
  const both = AbortSignal.any([signal, answered.signal]);
  try {
    const ended = follow ? waitForContainerEnd(view, pod.metadata.uid, id, both) : undefined;
    const tail = tailLines === undefined ? undefined : ({ count: tailLines, of: 'lines' } as const);
    const lines = readLogs({ fs }, logPath, { follow, tail, sinceMs: sinceMs(query, clock.now()), ended }, both);
    yield* logText(stream === undefined ? lines : filterStream(lines, stream), { timestamps, limitBytes });
  } finally {
    answered.abort(); // ends the wait for the container
  }
}

async function* filterStream(
  batches: AsyncIterable<readonly LogLine[]>,
  stream: LogLine['stream'],
): AsyncGenerator<readonly LogLine[], void, void> {
  for await (const lines of batches) yield lines.filter((line) => line.stream === stream);
}

function sinceMs({ since }: LogQuery, nowMs: number): number | undefined {
  if (since === undefined) return undefined;
  return 'timeMs' in since ? since.timeMs : nowMs - since.seconds * 1000;
}

/** `containerd://ID` */
function observedById({ observed }: PodReport, containerId: string): ObservedContainer | undefined {
  const id = containerId.slice(containerId.indexOf('://') + 3);
  return observed?.containers.find((each) => each.id === id);
}
