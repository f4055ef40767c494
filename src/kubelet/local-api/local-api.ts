import { errorText } from '../../base/error-text.ts';
import type { RuntimeService } from '../../cri/services.ts';
import type { Clock } from '../../host/clock.ts';
import type { FileSystem } from '../../host/file-system.ts';
import type { HttpHandler, ServerRequest, ServerResponse } from '../../host/network.ts';
import type { AgentView } from '../explain/agent-view.ts';
import { ApiError } from './api-error.ts';
import { explainPod, podTimeline } from './explain-pod.ts';
import { findPod } from './find-pod.ts';
import { listPods } from './list-pods.ts';
import { execQuery, logsQuery, podReference, seconds } from './local-api-requests.ts';
import type { ErrorAnswer, StartsAnswer, StopAnswer, VersionInfo } from './local-api-types.ts';
import { serveExec } from './serve-exec.ts';
import { serveLogs } from './serve-logs.ts';

/** A started agent. The socket is the lock of the agent, so it is served before the agent has started. */
export interface RunningAgent {
  readonly view: AgentView;
  readonly runtime: Pick<RuntimeService, 'exec'>;
}

export interface LocalApiDeps {
  readonly identity: VersionInfo;
  readonly fs: FileSystem;
  readonly clock: Pick<Clock, 'now'>;
  /** `undefined` until the agent has started. */
  agent(): RunningAgent | undefined;
  /**
   * Shuts the program down and resolves when its pods are removed. Absent where the end of the program must not end its
   * pods.
   */
  readonly shutdown?: (graceSeconds: number | undefined) => Promise<void>;
}

/**
 * The agent's own API for commands on this machine, below `/v1`:
 *
 *   GET  /v1/version
 *   GET  /v1/pods?namespace=
 *   GET  /v1/pods/NAME/log?namespace=&container=&follow=&previous=&timestamps=&tail=&since=&limit=
 *   GET  /v1/pods/NAME/why?namespace=     {pod, sentences}
 *   GET  /v1/pods/NAME/timeline?namespace=     {pod, nowMs, steps, waits}
 *   GET  /v1/starts     {steps}: how long the steps of starting pods took
 *   POST /v1/pods/NAME/exec?namespace=     {container, command, stdin, tty} → {url, note}
 *   POST /v1/pods/NAME/stop?namespace=&grace=     answers when nothing of the pod is left
 *   POST /v1/shutdown?grace=     answers when nothing of any pod is left
 *   GET  /v1/end     an empty response that ends with the agent
 *
 * An error is `{message, code}` with a status of 400, 404, 409 or 503.
 */
export function createLocalApi(parts: LocalApiDeps): HttpHandler {
  return async (request) => {
    try {
      return await route(parts, request);
    } catch (error) {
      return errorResponse(
        error instanceof ApiError ? error : new ApiError('Internal', errorText(error), { cause: error }),
      );
    }
  };
}

async function route(parts: LocalApiDeps, request: ServerRequest): Promise<ServerResponse> {
  const { method, path, query } = request;
  const [, version, ...rest] = path.split('/');
  const what = version === 'v1' ? `${method} ${rest.map((part, at) => (at === 1 ? 'NAME' : part)).join('/')}` : '';
  switch (what) {
    case 'GET version':
      return json(parts.identity);
    case 'GET pods':
      return json(await listPods(running(parts).view, query.get('namespace') ?? undefined));
    case 'GET pods/NAME/log':
      return await serveLogs({ view: running(parts).view, fs: parts.fs }, logsQuery(request), request.signal);
    case 'GET pods/NAME/why':
      return json(await explainPod(running(parts).view, podReference(request), parts.clock));
    case 'GET pods/NAME/timeline':
      return json(podTimeline(running(parts).view, podReference(request), parts.clock));
    case 'GET starts':
      return json(startsAnswer(running(parts).view));
    case 'POST pods/NAME/exec':
      return json(await serveExec(running(parts), await execQuery(request), request.signal));
    case 'POST pods/NAME/stop':
      return json(await stopPod(running(parts).view, request));
    case 'POST shutdown':
      return json(await shutdown(parts, request));
    case 'GET end':
      return { status: 200, headers: { 'content-type': 'text/plain' }, body: emptyBody(request.signal) };
    default:
      throw new ApiError('NotFound', `there is no ${method} ${path}`);
  }
}

function startsAnswer(view: AgentView): StartsAnswer {
  return { steps: view.startSteps() };
}

/** A body without data that ends with the connection. */
async function* emptyBody(signal: AbortSignal): AsyncGenerator<Uint8Array, void, void> {
  await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
  yield* [];
}

async function stopPod(view: AgentView, request: ServerRequest): Promise<StopAnswer> {
  const { metadata } = findPod(view, podReference(request)).pod;
  await view.stopPod(metadata.uid, seconds(request, 'grace'));
  return { stopped: [`${metadata.namespace}/${metadata.name}`] };
}

async function shutdown(parts: LocalApiDeps, request: ServerRequest): Promise<StopAnswer> {
  if (parts.shutdown === undefined) {
    throw new ApiError('Conflict', 'this agent leaves its pods running when it ends; name the pods to stop');
  }
  const pods = parts.agent()?.view.pods() ?? [];
  await parts.shutdown(seconds(request, 'grace'));
  return { stopped: pods.map(({ pod }) => `${pod.metadata.namespace}/${pod.metadata.name}`) };
}

function running(parts: LocalApiDeps): RunningAgent {
  const agent = parts.agent();
  if (agent === undefined) throw new ApiError('Unavailable', 'the agent is still starting');
  return agent;
}

function json(value: unknown): ServerResponse {
  return { status: 200, headers: { 'content-type': 'application/json' }, body: JSON.stringify(value) };
}

function errorResponse({ status, message, code }: ApiError): ServerResponse {
  const answer: ErrorAnswer = { message, code };
  return { ...json(answer), status };
}
