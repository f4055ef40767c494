import { allContainers } from '../../api/all-containers.ts';
import { podFullName } from '../../api/pod-names.ts';
import { errorText } from '../../base/error-text.ts';
import { CriError, hasCode, isNotFound, rpcErrorText } from '../../cri/cri-error.ts';
import type { RuntimeService } from '../../cri/services.ts';
import type { TlsRequest } from '../../host/tls-server.ts';
import type { AgentView, PodReport } from '../explain/agent-view.ts';
import { runningContainers } from '../pod/observed-pod.ts';
import { findPodByName } from './find-pod-by-name.ts';
import { HttpError, PLAIN_TEXT } from './responses.ts';
import {
  forwardedPorts,
  type StreamOptions,
  streamOptions,
  tunnelledProtocols,
  webSocketProtocols,
} from './stream-query.ts';

export interface StreamAddressDeps {
  readonly view: Pick<AgentView, 'pods'>;
  readonly runtime: Pick<RuntimeService, 'exec' | 'attach' | 'portForward'>;
  /** The feature gate ExtendWebSocketsToKubelet: a WebSocket that carries SPDY need not name ports in advance. */
  readonly tunnels: boolean;
}

/** The endpoint of a streaming connection. */
export interface StreamTarget {
  readonly verb: 'exec' | 'attach' | 'portForward';
  readonly namespace: string;
  readonly pod: string;
  /** Empty where the path has none. */
  readonly uid: string;
  readonly container: string;
}

/** Lifetime of an address of the runtime's streaming server. */
const RETRY_AFTER_SECONDS = '60';

/** Returns the runtime's streaming address; throws an `HttpError` with kubelet's message. */
export async function streamAddress(
  deps: StreamAddressDeps,
  target: StreamTarget,
  request: Pick<TlsRequest, 'query' | 'upgrade' | 'headers' | 'signal'>,
): Promise<StreamAddress> {
  const ask = target.verb === 'portForward' ? portForward : target.verb === 'exec' ? exec : attach;
  const { streams, call } = ask(deps, target, request);
  try {
    return { address: (await call(deps.runtime)).url, streams };
  } catch (error) {
    throw asHttpError(error);
  }
}

/** Where a session is served, and the streams of a command; a port-forward has none. */
export interface StreamAddress {
  readonly address: string;
  readonly streams: StreamOptions | undefined;
}

interface AddressCall {
  readonly streams: StreamOptions | undefined;
  readonly call: (runtime: StreamAddressDeps['runtime']) => Promise<{ readonly url: string }>;
}

type Ask = (
  deps: StreamAddressDeps,
  target: StreamTarget,
  request: Pick<TlsRequest, 'query' | 'upgrade' | 'headers' | 'signal'>,
) => AddressCall;

const exec: Ask = ({ view }, { namespace, pod, container }, { query, signal }) => {
  const options = streamOptions(query);
  const report = findExistingPod(view, namespace, pod);
  const containerId = runningContainerId(report, container);
  if (containerId === undefined) throw new HttpError(500, `container not found (${JSON.stringify(container)})`);
  const cmd = query.getAll('command');
  return { streams: options, call: (runtime) => runtime.exec({ containerId, cmd, ...options }, signal) };
};

const attach: Ask = ({ view }, { namespace, pod, uid, container }, { query, signal }) => {
  const { stdin, stdout, stderr } = streamOptions(query);
  const report = findExistingPod(view, namespace, pod);
  const fullName = podFullName(report.pod);
  const containerId = runningContainerId(report, container);
  const spec = allContainers(report.pod.spec).find(({ name }) => name === container);
  if (containerId === undefined || !spec) {
    throw new HttpError(500, `container ${container} not found in pod ${fullName}`);
  }
  // As in kubelet, the UID of a mirror pod does not match its static pod.
  if (uid !== '' && uid !== report.pod.metadata.uid) {
    throw new HttpError(500, `pod ${fullName} not found`);
  }
  // The container's spec decides whether it has a terminal.
  const { tty = false } = spec;
  const streams = { stdin, stdout, stderr, tty };
  return { streams, call: (runtime) => runtime.attach({ containerId, ...streams }, signal) };
};

const portForward: Ask = ({ view, tunnels }, { namespace, pod, uid }, { query, upgrade, headers, signal }) => {
  const port =
    tunnels && tunnelledProtocols(webSocketProtocols(headers)).length > 0 ? [] : forwardedPorts(query, upgrade);
  const report = findExistingPod(view, namespace, pod);
  if (uid !== '' && uid !== report.pod.metadata.uid) throw new HttpError(404, 'pod not found');
  const sandbox = report.observed?.sandboxes.find(({ ready }) => ready);
  if (!sandbox) throw new HttpError(500, `pod not found (${JSON.stringify(podFullName(report.pod))})`);
  const { id: podSandboxId } = sandbox;
  return { streams: undefined, call: (runtime) => runtime.portForward({ podSandboxId, port }, signal) };
};

function findExistingPod(view: Pick<AgentView, 'pods'>, namespace: string, name: string): PodReport {
  const report = findPodByName(view, namespace, name);
  if (!report) throw new HttpError(404, 'pod does not exist');
  return report;
}

function runningContainerId({ observed }: PodReport, name: string): string | undefined {
  return runningContainers(observed).find((container) => container.name === name)?.id;
}

function asHttpError(error: unknown): HttpError {
  const text = error instanceof CriError ? rpcErrorText(error) : errorText(error);
  if (isNotFound(error)) return new HttpError(404, text, { cause: error });
  if (!hasCode(error, 'ResourceExhausted')) return new HttpError(500, text, { cause: error });
  return new HttpError(429, text, { cause: error, headers: { ...PLAIN_TEXT, 'retry-after': RETRY_AFTER_SECONDS } });
}
