import { errorText } from '../../base/error-text.ts';
import type { Clock } from '../../host/clock.ts';
import type { ByteStream, Network } from '../../host/network.ts';
import type { StreamResponse, TlsRequest } from '../../host/tls-server.ts';
import { UpgradeRejectedError } from '../../host/upgrade-rejected-error.ts';
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

/** Time limit for a client to close the connection after the runtime has ended the session. */
const CLOSE_TIMEOUT_MS = 10_000;

/**
 * Connects a client to the runtime's streaming address and copies bytes both ways, for SPDY and for WebSockets. Throws an
 * `HttpError` with the runtime's response when the runtime rejects the upgrade. `onEnd` is called after the copying.
 */
export async function proxyStream(
  { network, clock }: ProxyDeps,
  address: string,
  request: Pick<TlsRequest, 'method' | 'headers' | 'upgrade'>,
  onEnd: () => void,
  signal: AbortSignal,
): Promise<StreamResponse> {
  if (request.upgrade === '') throw new HttpError(500, 'Upgrade request required\n', { headers: LINE_HEADERS });
  const { protocol, hostname, port, pathname, search } = new URL(address);
  const [host] = await network.lookup(hostname.replace(/^\[|\]$/g, ''), signal);
  const scheme = protocol === 'https:' ? 'https' : 'http';
  try {
    const { headers, stream } = await network.upgrade(
      {
        target: { host, port: Number(port || (scheme === 'https' ? 443 : 80)) },
        scheme,
        method: request.method === 'GET' ? 'GET' : 'POST',
        path: `${pathname}${search}`,
        upgrade: request.upgrade,
        headers: Object.entries(withoutToken(request.headers)).filter(([name]) => !OWN_HEADERS.has(name)),
      },
      signal,
    );
    return {
      headers: Object.entries(headers),
      serve: (client) => void copyBothWays(client, stream, clock).finally(onEnd),
    };
  } catch (error) {
    if (error instanceof UpgradeRejectedError) throw asHttpError(error);
    throw new HttpError(500, errorText(error), { cause: error });
  }
}

/** The runtime's response. */
function asHttpError(cause: UpgradeRejectedError): HttpError {
  const headers = Object.entries(cause.headers).filter(([name]) => !OWN_HEADERS.has(name));
  return new HttpError(cause.status, cause.bodyText, { cause, headers: Object.fromEntries(headers) });
}

/** Resolves when both sides have ended, one has failed, or the client stays after the runtime has ended. */
async function copyBothWays(client: ByteStream, runtime: ByteStream, clock: ProxyDeps['clock']): Promise<void> {
  const output = copy(runtime, client);
  const input = copy(client, runtime);
  await output;
  clock.deadline(CLOSE_TIMEOUT_MS).addEventListener('abort', () => client.close(), { once: true });
  await input;
  client.close();
  runtime.close();
}

async function copy(from: ByteStream, to: ByteStream): Promise<void> {
  try {
    for await (const chunk of from.chunks) await to.write(chunk);
    to.end();
  } catch {
    // One side is gone: the other sees the end of its own connection.
    from.close();
    to.close();
  }
}
