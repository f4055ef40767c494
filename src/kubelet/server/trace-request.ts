import { traceWork, type WorkFacts } from '../../base/trace-work.ts';
import type { TlsRequest, TlsResponse } from '../../host/tls-server.ts';
import type { GuardedRoute } from './route.ts';

const SWITCHING_PROTOCOLS = 101;

/** The routes of kubelet that have a path in its router. Its spans of all others have no name. */
const ROUTES: { readonly [Kind in GuardedRoute['kind']]?: string } = {
  pods: '/pods/',
  runningPods: '/runningpods/',
  statsSummary: '/stats/summary',
  containerLogs: '/containerLogs/{podNamespace}/{podID}/{containerName}',
};

/**
 * Serves an authorized request as kubelet's HTTP server shows it: in a trace of its own, which refers to that of the
 * client. A span of a stream ends when the stream begins.
 */
export function traceRequest(
  request: TlsRequest,
  route: GuardedRoute,
  serve: () => Promise<TlsResponse>,
): Promise<TlsResponse> {
  return traceWork(() => {
    const name = routePath(route);
    const link = request.headers['traceparent'];
    return { name, kind: 'server', subject: 'request', link, facts: requestFacts(request, name), factsOf: statusFacts };
  }, serve);
}

function routePath(route: GuardedRoute): string {
  if (route.kind !== 'stream') return ROUTES[route.kind] ?? '';
  const { verb, uid } = route.target;
  const container = verb === 'portForward' ? '' : '/{containerName}';
  return `/${verb}/{podNamespace}/{podID}${uid === '' ? '' : '/{uid}'}${container}`;
}

function requestFacts({ method, path, headers }: TlsRequest, route: string): WorkFacts {
  return {
    'server.address': 'kubelet',
    'http.request.method': method,
    'url.scheme': 'https',
    'url.path': path,
    'http.route': route || path,
    'user_agent.original': headers['user-agent'],
    'client.address': headers['x-forwarded-for']?.split(',')[0],
  };
}

/** Only errors of the server count as errors. */
function statusFacts(result: unknown): WorkFacts {
  const answer = result as TlsResponse; // of `serve`
  const status = answer.kind === 'stream' ? SWITCHING_PROTOCOLS : answer.response.status;
  return { 'http.response.status_code': status, 'error.type': status >= 500 ? String(status) : undefined };
}
