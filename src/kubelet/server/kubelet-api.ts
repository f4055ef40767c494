import { assertNever } from '../../base/assert-never.ts';
import { errorText } from '../../base/error-text.ts';
import type { Log } from '../../base/log.ts';
import type { Clock } from '../../host/clock.ts';
import type { FileSystem } from '../../host/file-system.ts';
import type { Network, ServerResponse } from '../../host/network.ts';
import type { StreamResponse, TlsHandler, TlsRequest, TlsResponse } from '../../host/tls-server.ts';
import { SessionLimitError, SessionLimits, type SessionScope } from '../../streams/session-limits.ts';
import type { AgentView } from '../explain/agent-view.ts';
import type { NodeStatistics } from '../stats/stats-source.ts';
import type { Authenticate, User } from './authenticate.ts';
import { type Authorize, requestedAccess } from './authorize.ts';
import { type HealthChecks, healthResponse } from './healthz.ts';
import { encodedMetrics, encodedPage } from './metrics-response.ts';
import { openResponse } from './open-response.ts';
import { podList, runningPodList } from './pod-lists.ts';
import { processStartSeconds } from './process-metrics.ts';
import { proxyStream } from './proxy-stream.ts';
import type { ServerType } from './request-metrics.ts';
import { resourceMetrics } from './resource-metrics.ts';
import { errorLine, HttpError, json, jsonLine, NO_SNIFFING, plainText } from './responses.ts';
import { type DebugHandlers, findRoute, type GuardedRoute, type OpenRoute, type Route } from './route.ts';
import { type ContainerLogsDeps, serveContainerLogs } from './serve-container-logs.ts';
import { type DebugDeps, serveDebugRoute } from './serve-debug-route.ts';
import { serveStats } from './serve-stats.ts';
import type { ServedMetrics } from './served-metrics.ts';
import { type StreamAddressDeps, type StreamTarget, streamAddress } from './stream-address.ts';
import { traceRequest } from './trace-request.ts';
import { needsTranslation, translateStream } from './translate-stream.ts';

export interface KubeletApiDeps
  extends Omit<ContainerLogsDeps, 'view' | 'fs' | 'clock'>,
    Omit<StreamAddressDeps, 'view'> {
  readonly view: AgentView;
  readonly fs: FileSystem;
  readonly network: Pick<Network, 'upgrade' | 'lookup'>;
  readonly clock: Pick<Clock, 'deadline' | 'now'>;
  readonly log: Log;
  readonly metrics: ServedMetrics;
  readonly authenticate: Authenticate;
  readonly authorize: Authorize;
  /** Absent: `enableDebuggingHandlers` is off. */
  readonly debugging?: DebugHandlers | undefined;
  readonly debug: DebugDeps;
  readonly checks: HealthChecks;
  readonly stats: NodeStatistics;
  /** The content of `/configz`. */
  readonly configuration: unknown;
  /** The runtime may speak only SPDY and older protocols of WebSockets: the gate's protocols are translated. */
  readonly translatesStreams: boolean;
  /** How many streaming sessions may be open at the same time. */
  readonly sessionsPerPod?: number;
  readonly sessionsPerUser?: number;
}

/** `kubectl exec`, `attach` and `port-forward` open one session each, whatever number of connections a port has. */
const SESSIONS_PER_POD = 128;
/** All sessions of `kubectl` have one user here: the API server. */
const SESSIONS_PER_USER = 1024;

const ANYONE: User = { name: 'system:anonymous', groups: [] };

/**
 * The HTTPS API of the node on :10250, as in kubelet. Clients are authenticated and authorized before any data of the node
 * is read; unknown paths are answered without authentication.
 */
export function createKubeletApi(parts: KubeletApiDeps): TlsHandler {
  return createHandler(parts, 'readwrite');
}

/** The API of `readOnlyPort`: every client may read what is served without debugging handlers. */
export function createReadOnlyApi(parts: KubeletApiDeps): TlsHandler {
  const open = { authenticate: async () => ANYONE, authorize: async () => ({ kind: 'allowed' }) as const };
  return createHandler({ ...parts, ...open, debugging: undefined }, 'readonly');
}

function createHandler(parts: KubeletApiDeps, serverType: ServerType): TlsHandler {
  const sessions = new SessionLimits();
  const { requests } = parts.metrics;
  return async (request) => {
    const onEnd = requests.begin(request.method, request.path, serverType);
    try {
      const route = findRoute(request.method, request.path, parts);
      if (isOpen(route)) return respond(openResponse(route, request));
      const user = await admit(parts, request);
      const serve = async (): Promise<TlsResponse> => {
        if (route.kind !== 'stream') return respond(await serveRoute(parts, route, request));
        if (request.upgrade.toLowerCase() === 'websocket') requests.onWebSocket(subresourceOf(route.target));
        return { kind: 'stream', stream: await openStream(parts, sessions, { user, target: route.target }, request) };
      };
      return await traceRequest(request, route, () => serve().catch(respondError));
    } catch (error) {
      return respondError(error);
    } finally {
      onEnd();
    }
  };
}

function isOpen(route: Route): route is OpenRoute {
  return route.kind === 'unknown' || route.kind === 'moved' || route.kind === 'badRequest';
}

/** The session counts from before the runtime is asked until the client or the runtime has ended it. */
async function openStream(
  parts: KubeletApiDeps,
  sessions: SessionLimits,
  { user, target }: { readonly user: User; readonly target: StreamTarget },
  request: TlsRequest,
): Promise<StreamResponse> {
  const { sessionsPerPod = SESSIONS_PER_POD, sessionsPerUser = SESSIONS_PER_USER } = parts;
  const session = openSession(sessions, [
    { name: `pod ${target.namespace}/${target.pod}`, max: sessionsPerPod },
    { name: `user ${user.name}`, max: sessionsPerUser },
  ]);
  try {
    const { address, streams } = await streamAddress(parts, target, request);
    const onEnd = (): void => session[Symbol.dispose]();
    if (!parts.tunnels || !parts.translatesStreams || !needsTranslation(request, streams)) {
      return await proxyStream(parts, address, request, onEnd, request.signal);
    }
    return await translateStream(parts, { address, streams, onEnd }, request, request.signal);
  } catch (error) {
    session[Symbol.dispose]();
    throw error;
  }
}

function openSession(sessions: SessionLimits, scopes: readonly SessionScope[]): Disposable {
  try {
    return sessions.open(scopes);
  } catch (error) {
    if (error instanceof SessionLimitError) throw new HttpError(429, error.message, { cause: error });
    throw error;
  }
}

async function admit(parts: KubeletApiDeps, request: TlsRequest): Promise<User> {
  const { log } = parts;
  const user = await parts.authenticate(request).catch((error: unknown) => {
    log.warn('cannot authenticate a request', { path: request.path, error });
    return undefined;
  });
  if (!user) throw new HttpError(401, 'Unauthorized');
  const access = requestedAccess(request.method, request.path);
  const decision = await parts.authorize(user, access);
  const who = `user=${user.name}, verb=${access.verb}, resource=nodes`;
  switch (decision.kind) {
    case 'allowed':
      return user;
    case 'refused':
      throw new HttpError(403, `Forbidden (${who}, subresource(s)=[${access.subresources.join(' ')}])\n`);
    case 'failed':
      log.warn('cannot authorize a request', { user: user.name, error: decision.error });
      throw new HttpError(500, `Authorization error (${who}, subresource=${decision.subresource})`);
    default:
      return assertNever(decision);
  }
}

async function serveRoute(
  parts: KubeletApiDeps,
  route: Exclude<GuardedRoute, { kind: 'stream' }>,
  request: TlsRequest,
): Promise<ServerResponse> {
  const { view, checks, configuration, stats, metrics } = parts;
  const { query, signal, headers } = request;
  switch (route.kind) {
    case 'healthz':
      return healthResponse(checks, route.check, query);
    case 'pods':
      return jsonLine(podList(view.pods()));
    case 'runningPods':
      return jsonLine(runningPodList(view.pods()));
    case 'configz':
      return json({ kubeletconfig: configuration }, NO_SNIFFING);
    case 'metrics':
      return encodedMetrics(await metrics.main.collect(), headers);
    case 'probeMetrics':
      return encodedMetrics(await metrics.probes.collect(), headers);
    case 'sliMetrics':
      return serveSlis(metrics.slis, request);
    case 'resourceMetrics':
      return serveResourceMetrics(parts, headers, signal);
    case 'cadvisorMetrics':
      return serveCadvisor(parts, headers, signal);
    case 'statsSummary':
      return serveStats(stats, request);
    case 'containerLogs':
      return serveContainerLogs(parts, route.target, query, signal);
    case 'disabled':
      return errorLine(405, route.why);
    case 'methodNotAllowed':
      return plainText(405, '405: Method Not Allowed', { allow: route.allowed.join(', ') });
    case 'notFound':
      return plainText(404, '404: Page Not Found');
    default:
      return serveDebugRoute(parts.debug, route, request);
  }
}

async function serveSlis(slis: ServedMetrics['slis'], { method, headers }: TlsRequest): Promise<ServerResponse> {
  if (method !== 'DELETE') return encodedMetrics(await slis.collect(), headers);
  slis.reset();
  return plainText(200, 'metrics reset\n');
}

async function serveResourceMetrics(
  { stats, fs, log }: KubeletApiDeps,
  headers: TlsRequest['headers'],
  signal: AbortSignal,
): Promise<ServerResponse> {
  const [resources, started] = await Promise.all([resourceMetrics(stats, log, signal), processStartSeconds(fs)]);
  return encodedMetrics(resources, headers, started);
}

/** As kubelet labels it. */
function subresourceOf({ verb }: StreamTarget): 'exec' | 'attach' | 'portforward' {
  return verb === 'portForward' ? 'portforward' : verb;
}

async function serveCadvisor(
  { stats, fs }: KubeletApiDeps,
  headers: TlsRequest['headers'],
  signal: AbortSignal,
): Promise<ServerResponse> {
  const [page, started] = await Promise.all([stats.cadvisorPage(signal), processStartSeconds(fs)]);
  return encodedPage(page, headers, started);
}

function respond(response: ServerResponse): TlsResponse {
  return { kind: 'response', response };
}

function respondError(error: unknown): TlsResponse {
  return respond(errorResponse(error));
}

function errorResponse(error: unknown): ServerResponse {
  if (!(error instanceof HttpError)) return plainText(500, errorText(error));
  const { status, headers, message: body } = error;
  return { status, headers, body };
}
