import { allContainers } from '../../api/all-containers.ts';
import type { PodStatus } from '../../api/generated/core-v1.ts';
import type { Clock } from '../../host/clock.ts';
import type { FileSystem } from '../../host/file-system.ts';
import type { ServerResponse } from '../../host/network.ts';
import type { AgentView, PodReport } from '../explain/agent-view.ts';
import { containerEnded } from '../local-api/container-ended.ts';
import type { LogLine } from '../logs/log-lines.ts';
import { logText } from '../logs/log-text.ts';
import { missingLogMessage } from '../logs/missing-log.ts';
import { readLogs } from '../logs/read-logs.ts';
import type { ObservedContainer } from '../pod/observed-pod.ts';
import { HttpProblem } from './answers.ts';
import { logContainerId } from './log-container.ts';
import { type LogQuery, logQuery } from './log-query.ts';
import { podNamed } from './pod-named.ts';

export interface ContainerLogsDeps {
  readonly view: AgentView;
  readonly fs: FileSystem;
  readonly clock: Pick<Clock, 'now'>;
  /** The feature gate PodLogsQuerySplitStreams. */
  readonly splitStreams: boolean;
}

export interface ContainerPlace {
  readonly namespace: string;
  readonly pod: string;
  readonly container: string;
}

/** `/containerLogs`: what is wrong once the container is known is told in the place of its log, with a status of 200. */
export async function serveContainerLogs(
  { view, fs, clock, splitStreams }: ContainerLogsDeps,
  { namespace, pod: name, container }: ContainerPlace,
  asked: URLSearchParams,
  signal: AbortSignal,
): Promise<ServerResponse> {
  const query = logQuery(asked, splitStreams);
  const report = podNamed(view, namespace, name);
  if (!report) throw new HttpProblem(404, `pod "${name}" does not exist`);
  if (!allContainers(report.pod.spec).some((each) => each.name === container)) {
    throw new HttpProblem(404, `container "${container}" not found in pod "${name}"`);
  }
  const containerId = logContainerId(name, knownStatus(report), container, query.previous);
  const observed = observedById(report, containerId);
  if (!observed) return { status: 200, body: `unable to retrieve container logs for ${containerId}` };
  const mayCome = query.follow && observed.state === 'running';
  const missing = mayCome ? undefined : await missingLogMessage(observed.logPath, fs);
  if (missing !== undefined) return { status: 200, body: missing };
  return { status: 200, body: linesOf({ view, fs, clock }, report, observed, query, signal) };
}

/** Right after a start of the agent, what the API server has of the pod is all that is known. */
function knownStatus({ pod, status }: PodReport): PodStatus {
  return status.containerStatuses === undefined ? (pod.status ?? status) : status;
}

async function* linesOf(
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
    const ended = follow ? containerEnded(view, pod.metadata.uid, id, both) : undefined;
    const tail = tailLines === undefined ? undefined : ({ count: tailLines, of: 'lines' } as const);
    const lines = readLogs({ fs }, logPath, { follow, tail, sinceMs: sinceMs(query, clock.now()), ended }, both);
    yield* logText(stream === undefined ? lines : only(lines, stream), { timestamps, limitBytes });
  } finally {
    answered.abort(); // however the reading ends, nothing goes on behind it
  }
}

async function* only(
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
