import { type ClientRequest, request as httpRequest, type IncomingMessage } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { Socket } from 'node:net';
import { type ByteStream, NetworkError, type UpgradedConnection, type UpgradeRequest } from '../../network.ts';
import { UpgradeRejectedError } from '../../upgrade-rejected-error.ts';
import { byteStreamOf } from '../net/byte-stream.ts';
import { addressOf } from '../net/dial.ts';
import { asNetworkError } from '../net/network-error.ts';
import { eventLoopTurn } from '../process/event-loop-turn.ts';
import { groupedHeaders, plainHeaders } from './http-request.ts';
import { secureContexts } from './tls-context.ts';

/** So much of a refusal is told. */
const MOST_WORDS = 4096;

/** Asks a server to make something else of the connection. */
export function upgrade(request: UpgradeRequest, signal: AbortSignal): Promise<UpgradedConnection> {
  return new Promise((resolve, reject) => {
    signal.throwIfAborted();
    const exchange = start(request);
    const onAbort = (): void => void exchange.destroy();
    signal.addEventListener('abort', onAbort, { once: true });
    let isAnswered = false;
    exchange.on('error', (error) => reject(signal.aborted ? signal.reason : asNetworkError(error)));
    exchange.once('close', () => {
      signal.removeEventListener('abort', onAbort);
      if (!isAnswered) reject(new NetworkError('ECONNRESET', 'the connection ended without an answer'));
    });
    exchange.once('response', (response) => {
      isAnswered = true; // the connection may end before the last of its words is read
      refusalIn(response)
        .then(reject, (error: unknown) => reject(signal.aborted ? signal.reason : asNetworkError(error)))
        .finally(() => exchange.destroy());
    });
    exchange.once('upgrade', (response, socket, head) => {
      if (!(socket instanceof Socket)) throw new TypeError('a connection of an HTTP client is a socket');
      if (head.length > 0) socket.unshift(head);
      const end = (): void => void socket.destroy();
      signal.addEventListener('abort', end, { once: true });
      socket.once('close', () => signal.removeEventListener('abort', end));
      resolve({ headers: plainHeaders(response), stream: readFirst(byteStreamOf(socket)) });
    });
    exchange.end();
  });
}

/**
 * A server that has said all may break the connection off while we still write, and a write that fails ends the reading,
 * too: so what has come is taken in before each write.
 */
function readFirst(stream: ByteStream): ByteStream {
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
  const options = { ...addressOf(target), agent: false, method, path, headers: groupedHeaders(asked) } as const;
  if (scheme !== 'https') return httpRequest(options);
  const [secureContext] = secureContexts(tls);
  return httpsRequest({ ...options, ...(secureContext && { secureContext }) });
}

async function refusalIn(response: IncomingMessage): Promise<UpgradeRejectedError> {
  let words = '';
  for await (const chunk of response.setEncoding('utf8')) {
    words += chunk;
    if (words.length >= MOST_WORDS) break;
  }
  return new UpgradeRejectedError(response.statusCode ?? 0, words.slice(0, MOST_WORDS), plainHeaders(response));
}
