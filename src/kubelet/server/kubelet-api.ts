import { assertNever } from '../../base/assert-never.ts';
import type { Log } from '../../base/log.ts';
import { errorText } from '../../base/error-text.ts';
import type { FileSystem } from '../../host/file-system.ts';
import type { Network, ServerResponse } from '../../host/network.ts';
import type { TlsResponse, TlsHandler, TlsRequest } from '../../host/tls-server.ts';
import type { AgentView } from '../explain/agent-view.ts';
import { agentMetrics, type BuildInfo } from './agent-metrics.ts';
import { HttpProblem, json, jsonLine, NO_SNIFFING, plainLine, plainText } from './answers.ts';
import type { Authenticate } from './authenticate.ts';
import { type Authorize, accessOf } from './authorize.ts';
import { carryStream } from './carry-stream.ts';
import { type HealthChecks, health } from './healthz.ts';
import { metricsAnswer } from './metrics-text.ts';
import { openAnswer } from './open-answer.ts';
import { podList, runningPodList } from './pod-lists.ts';
import { processMetrics } from './process-metrics.ts';
import { RequestCounts } from './request-counts.ts';
import { type GuardedRoute, type OpenRoute, type Route, routeOf } from './route.ts';
import { type ContainerLogsDeps, serveContainerLogs } from './serve-container-logs.ts';
import { type StreamAddressDeps, streamAddress } from './stream-address.ts';

export interface KubeletApiParts extends Omit<ContainerLogsDeps, 'view' | 'fs'>, Omit<StreamAddressDeps, 'view'> {
  readonly view: AgentView;
  readonly fs: FileSystem;
  readonly network: Pick<Network, 'upgrade' | 'lookup'>;
  readonly log: Log;
  readonly authenticate: Authenticate;
  readonly authorize: Authorize;
  /** `enableDebuggingHandlers` */
  readonly debugging: boolean;
  readonly checks: HealthChecks;
  /** What `/configz` shows. */
  readonly configuration: unknown;
  readonly build: BuildInfo;
}

/**
 * What a node answers to its cluster, as kubelet does on :10250. Who asks and whether he may is found out before anything
 * of the node is looked at; which paths there are is no secret.
 */
export function createKubeletApi(parts: KubeletApiParts): TlsHandler {
  const counts = new RequestCounts();
  return async (request) => {
    counts.add(request.method, request.path);
    try {
      const route = routeOf(request.method, request.path, parts);
      if (isOpen(route)) return respond(openAnswer(route, request));
      await admit(parts, request);
      if (route.kind !== 'stream') return respond(await answer(parts, counts, route, request));
      const address = await streamAddress(parts, route.place, request);
      return { kind: 'stream', stream: await carryStream(parts.network, address, request, request.signal) };
    } catch (error) {
      return respond(refusal(error));
    }
  };
}

function isOpen(route: Route): route is OpenRoute {
  return route.kind === 'unknown' || route.kind === 'moved' || route.kind === 'badRequest';
}

async function admit(parts: KubeletApiParts, request: TlsRequest): Promise<void> {
  const { log } = parts;
  const user = await parts.authenticate(request).catch((error: unknown) => {
    log.warn('cannot find out who sends a request', { path: request.path, error });
    return undefined;
  });
  if (!user) throw new HttpProblem(401, 'Unauthorized');
  const access = accessOf(request.method, request.path);
  const verdict = await parts.authorize(user, access);
  const who = `user=${user.name}, verb=${access.verb}, resource=nodes`;
  switch (verdict.kind) {
    case 'allowed':
      return;
    case 'refused':
      throw new HttpProblem(403, `Forbidden (${who}, subresource(s)=[${access.subresources.join(' ')}])\n`);
    case 'failed':
      log.warn('cannot find out whether a request is allowed', { user: user.name, error: verdict.error });
      throw new HttpProblem(500, `Authorization error (${who}, subresource=${verdict.subresource})`);
    default:
      assertNever(verdict);
  }
}

async function answer(
  parts: KubeletApiParts,
  counts: RequestCounts,
  route: Exclude<GuardedRoute, { kind: 'stream' }>,
  { query, signal }: TlsRequest,
): Promise<ServerResponse> {
  const { view, fs, checks, configuration, build } = parts;
  switch (route.kind) {
    case 'healthz':
      return health(checks, route.check, query);
    case 'pods':
      return jsonLine(podList(view.pods()));
    case 'runningPods':
      return jsonLine(runningPodList(view.pods()));
    case 'configz':
      return json({ kubeletconfig: configuration }, NO_SNIFFING);
    case 'metrics':
      return metricsAnswer([...agentMetrics(view, build), ...(await processMetrics(fs)), counts.metric()]);
    case 'containerLogs':
      return serveContainerLogs(parts, route.place, query, signal);
    case 'debuggingDisabled':
      return plainLine(405, 'Debug endpoints are disabled.');
    case 'methodNotAllowed':
      return plainText(405, '405: Method Not Allowed', { allow: route.allowed.join(', ') });
    case 'notFound':
      return plainText(404, '404: Page Not Found');
    default:
      return assertNever(route);
  }
}

function respond(response: ServerResponse): TlsResponse {
  return { kind: 'response', response };
}

function refusal(error: unknown): ServerResponse {
  if (!(error instanceof HttpProblem)) return plainText(500, errorText(error));
  const { status, headers, message: body } = error;
  return { status, headers, body };
}
