import { aborted } from '../../base/aborted.ts';
import type { Log } from '../../base/log.ts';
import type { HttpHandler, Network } from '../../host/network.ts';
import type { TcpAddress } from '../../host/tcp-server.ts';
import type { TlsHandler } from '../../host/tls-server.ts';

export interface ReadOnlyServing {
  readonly network: Pick<Network, 'serveTcp'>;
  readonly log: Log;
}

/**
 * Serves `readOnlyPort` until the signal aborts: without TLS and to every client. `handler` answers without asking who the
 * client is, and has none of the debugging handlers. Rejects when it cannot listen.
 */
export async function serveReadOnlyApi(
  address: TcpAddress,
  handler: TlsHandler,
  { network, log }: ReadOnlyServing,
  signal: AbortSignal,
): Promise<void> {
  if (signal.aborted) return;
  const server = await network.serveTcp(address, withoutClient(handler));
  try {
    log.info('serving the read-only API', { address: address.host, port: server.port });
    await aborted(signal);
  } finally {
    await server.close();
  }
}

function withoutClient(handler: TlsHandler): HttpHandler {
  return async (request) => {
    const answer = await handler({ ...request, headers: {}, client: { kind: 'none' }, upgrade: '' });
    if (answer.kind === 'stream') throw new TypeError('the read-only API has no streams');
    return answer.response;
  };
}
