import { outgoingTraceparent, traceWork, type WorkFacts } from '../../base/trace-work.ts';
import type { HttpRequest } from '../../host/network.ts';
import type { ServerResponse } from './server-connections.ts';

/**
 * A request to the API server as client-go's transport shows it: in a trace of its own, as in kubelet. Several parts of the
 * agent share requests, so that they belong to no pod. The span ends with the head of the response: that of a watch, too.
 */
export function traceRequest(
  { method, path }: Pick<HttpRequest, 'method' | 'path'>,
  server: string,
  send: () => Promise<ServerResponse>,
): Promise<ServerResponse> {
  return traceWork(
    () => ({
      name: `HTTP ${method}`,
      kind: 'client',
      subject: 'api request',
      facts: requestFacts(method, path, server),
      factsOf: statusFacts,
    }),
    send,
  );
}

/** The header by which the API server continues the trace. */
export function traceHeader(): ReadonlyArray<readonly [name: string, value: string]> {
  const traceparent = outgoingTraceparent();
  return traceparent === undefined ? [] : [['traceparent', traceparent]];
}

function requestFacts(method: string, path: string, server: string): WorkFacts {
  const { protocol, hostname, port } = new URL(server);
  return {
    'http.request.method': method,
    'url.full': `${server.replace(/\/$/, '')}${path}`,
    'server.address': hostname.replace(/^\[(.*)\]$/, '$1'),
    'server.port': Number(port || (protocol === 'https:' ? 443 : 80)),
  };
}

function statusFacts(result: unknown): WorkFacts {
  const { status } = (result as ServerResponse).response; // of `send`
  return { 'http.response.status_code': status, 'error.type': status >= 400 ? String(status) : undefined };
}
