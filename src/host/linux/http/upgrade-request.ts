import { type ClientRequest, request as httpRequest, type IncomingMessage } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { Socket } from 'node:net';
import { type ByteStream, NetworkError, type UpgradedConnection, type UpgradeRequest } from '../../network.ts';
import { UpgradeRejectedError } from '../../upgrade-rejected-error.ts';
import { byteStreamOf } from '../net/byte-stream.ts';
import { requireIpAddress } from '../net/dial.ts';
import { asNetworkError } from '../net/network-error.ts';
import { eventLoopTurn } from '../process/event-loop-turn.ts';
import { groupedHeaders, plainHeaders } from './http-request.ts';
import { secureContexts } from './tls-context.ts';

/** How much of a rejection's body is kept. */
const MAX_BODY_CHARACTERS = 4096;

/** Requests an upgrade of a new connection. */
export function upgrade(request: UpgradeRequest, signal: AbortSignal): Promise<UpgradedConnection> {
  return new Promise((resolve, reject) => {
    signal.throwIfAborted();
    const exchange = start(request);
    const onAbort = (): void => void exchange.destroy();
    signal.addEventListener('abort', onAbort, { once: true });
    let hasResponse = false;
    exchange.on('error', (error) => reject(signal.aborted ? signal.reason : asNetworkError(error)));
    exchange.once('close', () => {
      signal.removeEventListener('abort', onAbort);
      if (!hasResponse) reject(new NetworkError('ECONNRESET', 'the connection ended without a response'));
    });
    exchange.once('response', (response) => {
      hasResponse = true; // the connection may end before the body is read
      readRejection(response)
        .then(reject, (error: unknown) => reject(signal.aborted ? signal.reason : asNetworkError(error)))
        .finally(() => exchange.destroy());
    });
    exchange.once('upgrade', (response, socket, head) => {
      if (!(socket instanceof Socket)) throw new TypeError('a connection of an HTTP client is a socket');
      if (head.length > 0) socket.unshift(head);
      const end = (): void => void socket.destroy();
      signal.addEventListener('abort', end, { once: true });
      socket.once('close', () => signal.removeEventListener('abort', end));
      resolve({ headers: plainHeaders(response), stream: readBeforeWrite(byteStreamOf(socket)) });
    });
    exchange.end();
  });
}

/**
 * A server may close the connection after its last byte while we still write, and a failed write also ends reading: so
 * received data is read before each write.
 */
function readBeforeWrite(stream: ByteStream): ByteStream {
  return {
    ...stream,
    write: async (data) => {
      await eventLoopTurn();
      await stream.write(data);
    },
  };
}

function start({ target, scheme, tls, method, path, upgrade, headers = [] }: UpgradeRequest): ClientRequest {
  const asked = [['Connection', 'Upgrade'] as const, ['Upgrade', upgrade] as const, ...headers];
  const options = { ...requireIpAddress(target), agent: false, method, path, headers: groupedHeaders(asked) } as const;
  if (scheme !== 'https') return httpRequest(options);
  const [secureContext] = secureContexts(tls);
  return httpsRequest({ ...options, ...(secureContext && { secureContext }) });
}

async function readRejection(response: IncomingMessage): Promise<UpgradeRejectedError> {
  let body = '';
  for await (const chunk of response.setEncoding('utf8')) {
    body += chunk;
    if (body.length >= MAX_BODY_CHARACTERS) break;
  }
  return new UpgradeRejectedError(response.statusCode ?? 0, body.slice(0, MAX_BODY_CHARACTERS), plainHeaders(response));
}
