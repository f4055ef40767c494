import { errorText } from '../../base/error-text.ts';
import type { ByteStream, Network } from '../../host/network.ts';
import type { StreamResponse, TlsRequest } from '../../host/tls-server.ts';
import { UpgradeRejectedError } from '../../host/upgrade-rejected-error.ts';
import { HttpProblem, LINE_HEADERS } from './answers.ts';
import { withoutToken } from './bearer-token.ts';

/** What belongs to our own connections and not to what is carried. */
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

/**
 * Connects a client to the address that the runtime gave out for it, and carries bytes both ways whatever they mean: SPDY,
 * or a WebSocket of a runtime that speaks it. Throws an `HttpProblem` with the runtime's words when it does not take it.
 */
export async function carryStream(
  network: Pick<Network, 'upgrade' | 'lookup'>,
  address: string,
  request: Pick<TlsRequest, 'method' | 'headers' | 'upgrade'>,
  signal: AbortSignal,
): Promise<StreamResponse> {
  if (request.upgrade === '') throw new HttpProblem(500, 'Upgrade request required\n', { headers: LINE_HEADERS });
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
    return { headers: Object.entries(headers), serve: (client) => void carry(client, stream) };
  } catch (error) {
    if (error instanceof UpgradeRejectedError) throw refusalOf(error);
    throw new HttpProblem(500, errorText(error), { cause: error });
  }
}

/** As the runtime said it. */
function refusalOf(cause: UpgradeRejectedError): HttpProblem {
  const told = Object.entries(cause.headers).filter(([name]) => !OWN_HEADERS.has(name));
  return new HttpProblem(cause.status, cause.bodyText, { cause, headers: Object.fromEntries(told) });
}

/** Until both sides have ended, or one has failed. */
async function carry(client: ByteStream, runtime: ByteStream): Promise<void> {
  await Promise.all([oneWay(client, runtime), oneWay(runtime, client)]);
  client.close();
  runtime.close();
}

async function oneWay(from: ByteStream, to: ByteStream): Promise<void> {
  try {
    for await (const chunk of from.chunks) await to.write(chunk);
    to.end();
  } catch {
    // One side is gone: the other is told by the end of its own connection.
    from.close();
    to.close();
  }
}
