import { errorText } from '../../base/error-text.ts';
import type { Clock } from '../../host/clock.ts';
import type { Network, UpgradedConnection } from '../../host/network.ts';
import type { StreamResponse, TlsRequest } from '../../host/tls-server.ts';
import { UpgradeRejectedError } from '../../host/upgrade-rejected-error.ts';
import { copyBothWays } from '../../streams/copy-both-ways.ts';
import { withoutToken } from './bearer-token.ts';
import { HttpError, LINE_HEADERS } from './responses.ts';

/** Hop-by-hop headers and those of our own connections: they are not forwarded. */
const OWN_HEADERS: ReadonlySet<string> = new Set([
  'connection',
  'content-length',
  'cookie',
  'date',
  'host',
  'keep-alive',
  'transfer-encoding',
  'upgrade',
]);

export interface ProxyDeps {
  readonly network: Pick<Network, 'upgrade' | 'lookup'>;
  readonly clock: Pick<Clock, 'deadline'>;
}

/**
 * Connects a client to the runtime's streaming address and copies bytes both ways, for SPDY and for WebSockets. Throws an
 * `HttpError` with the runtime's response when the runtime rejects the upgrade. `onEnd` is called after the copying.
 */
export async function proxyStream(
  deps: ProxyDeps,
  address: string,
  request: Pick<TlsRequest, 'method' | 'headers' | 'upgrade'>,
  onEnd: () => void,
  signal: AbortSignal,
): Promise<StreamResponse> {
  if (request.upgrade === '') throw new HttpError(500, 'Upgrade request required\n', { headers: LINE_HEADERS });
  const { method, upgrade, headers } = request;
  const runtime = await connectToRuntime(deps, address, { method, upgrade, headers: forwarded(headers) }, signal).catch(
    asHttpError,
  );
  return {
    headers: Object.entries(runtime.headers),
    serve: (client) => void copyBothWays(client, runtime.stream, deps.clock).finally(onEnd),
  };
}

type Headers = ReadonlyArray<readonly [name: string, value: string]>;

/** The headers of the client that the runtime gets too. */
function forwarded(headers: TlsRequest['headers']): Headers {
  return Object.entries(withoutToken(headers)).filter(([name]) => !OWN_HEADERS.has(name));
}

interface RuntimeRequest extends Pick<TlsRequest, 'method' | 'upgrade'> {
  readonly headers: Headers;
}

/** Requests an upgrade from the runtime's streaming server. */
export async function connectToRuntime(
  { network }: Pick<ProxyDeps, 'network'>,
  address: string,
  { method, upgrade, headers }: RuntimeRequest,
  signal: AbortSignal,
): Promise<UpgradedConnection> {
  const { protocol, hostname, port, pathname, search } = new URL(address);
  const [host] = await network.lookup(hostname.replace(/^\[|\]$/g, ''), signal);
  const scheme = protocol === 'https:' ? 'https' : 'http';
  const target = { host, port: Number(port || (scheme === 'https' ? 443 : 80)) };
  const path = `${pathname}${search}`;
  return network.upgrade({ target, scheme, method: method === 'GET' ? 'GET' : 'POST', path, upgrade, headers }, signal);
}

/** Throws the runtime's response to the upgrade, or what prevented one. */
export function asHttpError(cause: unknown): never {
  if (!(cause instanceof UpgradeRejectedError)) throw new HttpError(500, errorText(cause), { cause });
  const headers = Object.entries(cause.headers).filter(([name]) => !OWN_HEADERS.has(name));
  throw new HttpError(cause.status, cause.bodyText, { cause, headers: Object.fromEntries(headers) });
}
