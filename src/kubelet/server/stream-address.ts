import { allContainers } from '../../api/all-containers.ts';
import { podFullName } from '../../api/pod-names.ts';
import { errorText } from '../../base/error-text.ts';
import { CriError, hasCode, isNotFound, rpcErrorText } from '../../cri/cri-error.ts';
import type { RuntimeService } from '../../cri/services.ts';
import type { TlsRequest } from '../../host/tls-server.ts';
import type { AgentView, PodReport } from '../explain/agent-view.ts';
import { runningContainers } from '../pod/observed-pod.ts';
import { HttpProblem, PLAIN_TEXT } from './answers.ts';
import { podNamed } from './pod-named.ts';
import { forwardedPorts, isTunnel, streamWish } from './stream-query.ts';

export interface StreamAddressDeps {
  readonly view: Pick<AgentView, 'pods'>;
  readonly runtime: Pick<RuntimeService, 'exec' | 'attach' | 'portForward'>;
  /** The feature gate ExtendWebSocketsToKubelet: a WebSocket that carries SPDY need not name ports in advance. */
  readonly tunnels: boolean;
}

/** What of a pod is to be connected to. */
export interface StreamPlace {
  readonly verb: 'exec' | 'attach' | 'portForward';
  readonly namespace: string;
  readonly pod: string;
  /** Empty where the path names none. */
  readonly uid: string;
  readonly container: string;
}

/** As long as an address of the runtime's streaming server is good. */
const RETRY_AFTER_SECONDS = '60';

/** The address at which the runtime serves it; throws an `HttpProblem` with kubelet's words. */
export async function streamAddress(
  deps: StreamAddressDeps,
  place: StreamPlace,
  request: Pick<TlsRequest, 'query' | 'upgrade' | 'headers' | 'signal'>,
): Promise<string> {
  const ask = place.verb === 'portForward' ? portForward : place.verb === 'exec' ? exec : attach;
  const call = ask(deps, place, request);
  try {
    return (await call(deps.runtime)).url;
  } catch (error) {
    throw problemOf(error);
  }
}

type AddressCall = (runtime: StreamAddressDeps['runtime']) => Promise<{ readonly url: string }>;
type Ask = (
  deps: StreamAddressDeps,
  place: StreamPlace,
  request: Pick<TlsRequest, 'query' | 'upgrade' | 'headers' | 'signal'>,
) => AddressCall;

const exec: Ask = ({ view }, { namespace, pod, container }, { query, signal }) => {
  const wish = streamWish(query);
  const report = existing(view, namespace, pod);
  const containerId = runningId(report, container);
  if (containerId === undefined) throw new HttpProblem(500, `container not found (${JSON.stringify(container)})`);
  return (runtime) => runtime.exec({ containerId, cmd: query.getAll('command'), ...wish }, signal);
};

const attach: Ask = ({ view }, { namespace, pod, uid, container }, { query, signal }) => {
  const { stdin, stdout, stderr } = streamWish(query);
  const report = existing(view, namespace, pod);
  const fullName = podFullName(report.pod);
  const containerId = runningId(report, container);
  const spec = allContainers(report.pod.spec).find(({ name }) => name === container);
  if (containerId === undefined || !spec) {
    throw new HttpProblem(500, `container ${container} not found in pod ${fullName}`);
  }
  // As in kubelet, the UID of its mirror at the API server is not that of a static pod.
  if (uid !== '' && uid !== report.pod.metadata.uid) {
    throw new HttpProblem(500, `pod ${fullName} not found`);
  }
  // Whether it has a terminal was decided when it started.
  const { tty = false } = spec;
  return (runtime) => runtime.attach({ containerId, stdin, stdout, stderr, tty }, signal);
};

const portForward: Ask = ({ view, tunnels }, { namespace, pod, uid }, { query, upgrade, headers, signal }) => {
  const port = tunnels && isTunnel(webSocketProtocols(headers)) ? [] : forwardedPorts(query, upgrade);
  const report = existing(view, namespace, pod);
  if (uid !== '' && uid !== report.pod.metadata.uid) throw new HttpProblem(404, 'pod not found');
  const sandbox = report.observed?.sandboxes.find(({ ready }) => ready);
  if (!sandbox) throw new HttpProblem(500, `pod not found (${JSON.stringify(podFullName(report.pod))})`);
  return (runtime) => runtime.portForward({ podSandboxId: sandbox.id, port }, signal);
};

function webSocketProtocols(headers: TlsRequest['headers']): readonly string[] {
  return (headers['sec-websocket-protocol'] ?? '').split(',').map((each) => each.trim());
}

function existing(view: Pick<AgentView, 'pods'>, namespace: string, name: string): PodReport {
  const report = podNamed(view, namespace, name);
  if (!report) throw new HttpProblem(404, 'pod does not exist');
  return report;
}

function runningId({ observed }: PodReport, name: string): string | undefined {
  return runningContainers(observed).find((container) => container.name === name)?.id;
}

function problemOf(error: unknown): HttpProblem {
  const text = error instanceof CriError ? rpcErrorText(error) : errorText(error);
  if (isNotFound(error)) return new HttpProblem(404, text, { cause: error });
  if (!hasCode(error, 'ResourceExhausted')) return new HttpProblem(500, text, { cause: error });
  return new HttpProblem(429, text, { cause: error, headers: { ...PLAIN_TEXT, 'retry-after': RETRY_AFTER_SECONDS } });
}
