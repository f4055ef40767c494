import { collectText } from '../../base/byte-chunks.ts';
import { ExpectedError } from '../../base/expected-error.ts';
import { type HttpRequest, type HttpResponse, type Network, NetworkError } from '../../host/network.ts';
import { ApiError, isApiErrorCode } from './api-error.ts';
import type { PodReference } from './find-pod.ts';
import {
  type ExecAnswer,
  type ExecQuery,
  type LogsQuery,
  NOTE_HEADER,
  type PodList,
  type StartsAnswer,
  type StopAnswer,
  type TimelineAnswer,
  type VersionInfo,
  type WhyAnswer,
} from './local-api-types.ts';

/** The client of the local API. Rejects with an `ApiError`, or with a `NoAgentError` when no agent is listening. */
export interface LocalClient {
  version(signal: AbortSignal): Promise<VersionInfo>;
  pods(namespace: string | undefined, signal: AbortSignal): Promise<PodList>;
  logs(query: LogsQuery, signal: AbortSignal): Promise<LogsAnswer>;
  why(pod: PodReference, signal: AbortSignal): Promise<WhyAnswer>;
  timeline(pod: PodReference, signal: AbortSignal): Promise<TimelineAnswer>;
  /** How long the steps of starting pods took on this node. */
  starts(signal: AbortSignal): Promise<StartsAnswer>;
  exec(query: ExecQuery, signal: AbortSignal): Promise<ExecAnswer>;
  /** Resolves when nothing of the pod is left. */
  stop(pod: PodReference, graceSeconds: number | undefined, signal: AbortSignal): Promise<StopAnswer>;
  /** Resolves when nothing of any pod is left; then the agent ends. */
  shutdown(graceSeconds: number | undefined, signal: AbortSignal): Promise<StopAnswer>;
  /** Watches for the end of the agent, until the signal aborts. */
  hold(signal: AbortSignal): Promise<HeldAgent>;
}

export interface HeldAgent {
  /** Resolves when the agent has closed its socket, however it ended. */
  readonly ended: Promise<void>;
}

export interface LogsAnswer {
  /** Set when the container was chosen by default. */
  readonly note: string | undefined;
  readonly text: AsyncIterable<Uint8Array>;
}

/** No agent listens on the socket, or the user has no permission. */
export class NoAgentError extends ExpectedError {
  override readonly name = 'NoAgentError';

  constructor(socketPath: string, { code }: NetworkError, options: ErrorOptions) {
    super(
      code === 'EACCES' || code === 'EPERM'
        ? `permission denied on ${socketPath}: only root may talk to the agent`
        : `no agent is running here (${socketPath}: ${code}); start one with 'nodelet run FILE'`,
      options,
    );
  }
}

export function createLocalClient({
  network,
  socketPath,
}: {
  readonly network: Pick<Network, 'request'>;
  readonly socketPath: string;
}): LocalClient {
  async function send(request: Omit<HttpRequest, 'target'>, signal: AbortSignal): Promise<HttpResponse> {
    const response = await network.request({ ...request, target: { socketPath } }, signal).catch((error: unknown) => {
      if (error instanceof NetworkError) throw new NoAgentError(socketPath, error, { cause: error });
      throw error;
    });
    if (response.status !== 200) throw asApiError(response.status, await collectText(response.body));
    return response;
  }
  async function ask<Answer>(request: Omit<HttpRequest, 'target'>, signal: AbortSignal): Promise<Answer> {
    const { body } = await send(request, signal);
    const text = await collectText(body);
    return JSON.parse(text) as Answer; // client and agent are of one version
  }
  return {
    version: (signal) => ask({ method: 'GET', path: '/v1/version' }, signal),
    pods: (namespace, signal) => ask({ method: 'GET', path: `/v1/pods${queryString({ namespace })}` }, signal),
    logs: async (query, signal) => {
      const response = await send({ method: 'GET', path: logsPath(query) }, signal);
      return { note: response.headers[NOTE_HEADER], text: response.body };
    },
    why: (pod, signal) => ask({ method: 'GET', path: podPath(pod, 'why') }, signal),
    timeline: (pod, signal) => ask({ method: 'GET', path: podPath(pod, 'timeline') }, signal),
    starts: (signal) => ask({ method: 'GET', path: '/v1/starts' }, signal),
    exec: ({ pod, ...body }, signal) =>
      ask({ method: 'POST', path: podPath(pod, 'exec'), body: JSON.stringify(body) }, signal),
    stop: (pod, grace, signal) => ask({ method: 'POST', path: podPath(pod, 'stop', { grace }) }, signal),
    shutdown: (grace, signal) => ask({ method: 'POST', path: `/v1/shutdown${queryString({ grace })}` }, signal),
    hold: async (signal) => {
      const response = await send({ method: 'GET', path: '/v1/end' }, signal);
      const over = (): void => undefined;
      return { ended: collectText(response.body).then(over, over) }; // a broken connection is an end too
    },
  };
}

function logsPath({ pod, container, follow, previous, timestamps, tailLines, sinceMs, limitBytes }: LogsQuery): string {
  const query = { container, follow, previous, timestamps, tail: tailLines, since: sinceMs, limit: limitBytes };
  return podPath(pod, 'log', query);
}

type Query = Readonly<Record<string, string | number | boolean | undefined>>;

function podPath({ name, namespace }: PodReference, verb: string, query: Query = {}): string {
  return `/v1/pods/${encodeURIComponent(name)}/${verb}${queryString({ namespace, ...query })}`;
}

function queryString(query: Query): string {
  const set = Object.entries(query).flatMap(([name, value]) => (value === undefined ? [] : [[name, String(value)]]));
  return set.length === 0 ? '' : `?${new URLSearchParams(set)}`;
}

function asApiError(status: number, text: string): ApiError {
  const { code, message } = parseAnswer(text);
  if (isApiErrorCode(code) && typeof message === 'string') return new ApiError(code, message);
  return new ApiError('Internal', `the agent answered ${status}: ${text}`);
}

function parseAnswer(text: string): { readonly code?: unknown; readonly message?: unknown } {
  try {
    const answer: unknown = JSON.parse(text);
    return typeof answer === 'object' && answer !== null ? answer : {};
  } catch {
    return {}; // not from our handler: the text is shown
  }
}
