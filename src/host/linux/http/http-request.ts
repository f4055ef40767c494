import { once } from 'node:events';
import { type ClientRequest, request as httpRequest, type IncomingMessage, type RequestOptions } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { isIP } from 'node:net';
import { type ConnectionOptions, checkServerIdentity, type SecureContext } from 'node:tls';
import { type HttpRequest, type HttpResponse, NetworkError, type TlsSettings } from '../../network.ts';
import { addressOf } from '../net/dial.ts';
import { asNetworkError } from '../net/network-error.ts';
import { secureContexts } from './tls-context.ts';

/** One exchange on a connection of its own. */
export function request(request: HttpRequest, signal: AbortSignal): Promise<HttpResponse> {
  return withContext(request, (context) => exchange(request, context, false, signal));
}

/** Shows one certificate of ours after the other, until the server takes one. */
export async function withContext(
  { scheme, insecureSkipVerify, tls }: HttpRequest,
  ask: (context: SecureContext | undefined) => Promise<HttpResponse>,
): Promise<HttpResponse> {
  const needsContext = scheme === 'https' && (tls !== undefined || !insecureSkipVerify);
  const [first, ...others] = needsContext ? contextsOf(tls) : [undefined];
  let answer = ask(first);
  for (const context of others) {
    answer = answer.catch((error: unknown) => {
      if (!isRefusedByTls(error)) throw error;
      return ask(context);
    });
  }
  return answer;
}

type Contexts = ReturnType<typeof secureContexts>;

/** Settings do not change, and those who ask much do so by the same. */
const contextsBySettings = new WeakMap<TlsSettings, Contexts>();

function contextsOf(settings: TlsSettings | undefined): Contexts {
  try {
    if (settings === undefined) return secureContexts(undefined);
    return contextsBySettings.getOrInsertComputed(settings, () => secureContexts(settings));
  } catch (error) {
    throw asNetworkError(error); // a certificate that is none, or not of its key
  }
}

/** One exchange by HTTP/1.1, on a connection that the agent has or makes. */
export function exchange(
  request: HttpRequest,
  context: SecureContext | undefined,
  agent: RequestOptions['agent'],
  signal: AbortSignal,
): Promise<HttpResponse> {
  return new Promise((resolve, reject) => {
    signal.throwIfAborted();
    const exchange = start(request, context, agent);
    const onAbort = (): void => void exchange.destroy();
    signal.addEventListener('abort', onAbort, { once: true });
    let isAnswered = false;
    exchange.once('close', () => {
      signal.removeEventListener('abort', onAbort);
      if (!isAnswered) reject(new NetworkError('ECONNRESET', 'the connection ended without an answer'));
    });
    // Stays after the answer came: a failure then reaches the reader of the body, and must not end the process.
    exchange.on('error', (error) => reject(signal.aborted ? signal.reason : failureOf(exchange, error)));
    exchange.once('response', (response) => {
      isAnswered = true;
      resolve({
        status: response.statusCode ?? 0,
        headers: plainHeaders(response),
        body: bodyOf(response, signal),
      });
    });
    if (request.connectUntil) limitConnecting(exchange, request.connectUntil);
    if (request.bodyStream === undefined) exchange.end(request.body);
    else
      sendStream(exchange, request.bodyStream).catch((error: unknown) => {
        reject(error); // before the end of the connection gives a reason of its own
        exchange.destroy();
      });
  });
}

/** The other side had closed a connection that was kept, before it saw the request. */
export class StaleConnectionError extends NetworkError {}

function failureOf(exchange: ClientRequest, error: Error): NetworkError {
  const failure = asNetworkError(error);
  const isStale = exchange.reusedSocket && (failure.code === 'ECONNRESET' || failure.code === 'EPIPE');
  return isStale ? new StaleConnectionError(failure.code, failure.message, { cause: error }) : failure;
}

/** The server may want another certificate of ours. Some say so, others hang up after the handshake. */
function isRefusedByTls(error: unknown): boolean {
  return (
    error instanceof NetworkError && (error.code === 'ECONNRESET' || /alert/i.test(`${error.code} ${error.message}`))
  );
}

function limitConnecting(exchange: ClientRequest, until: AbortSignal): void {
  exchange.once('socket', (socket) => {
    if (!socket.connecting) return;
    const onAbort = (): void => {
      exchange.destroy(new NetworkError('ETIMEDOUT', 'the connection did not stand in time', { cause: until.reason }));
    };
    const forget = (): void => until.removeEventListener('abort', onAbort);
    until.addEventListener('abort', onAbort, { once: true });
    socket.once('connect', forget);
    socket.once('close', forget);
    if (until.aborted) onAbort();
  });
}

/** Until it is sent or answered: an answer may come before all of it is, and nobody reads the rest then. */
async function sendStream(exchange: ClientRequest, body: AsyncIterable<Uint8Array>): Promise<void> {
  const over = new AbortController();
  exchange.once('close', () => over.abort());
  exchange.once('response', (response: IncomingMessage) => {
    over.abort();
    response.once('end', () => exchange.destroy()); // the connection would wait for the rest
  });
  for await (const chunk of body) {
    if (over.signal.aborted) return;
    if (!exchange.write(chunk)) await once(exchange, 'drain', { signal: over.signal }).catch(() => {}); // told by 'error'
  }
  if (!over.signal.aborted) exchange.end();
}

function start(
  request: HttpRequest,
  secureContext: SecureContext | undefined,
  agent: RequestOptions['agent'],
): ClientRequest {
  const { target, scheme, insecureSkipVerify, tls, method, path, proxy } = request;
  const options: RequestOptions = {
    ...(proxy === undefined ? addressOf(target) : target),
    agent,
    method,
    path,
    headers: groupedHeaders(headersOf(request)),
  };
  if (scheme !== 'https') return httpRequest(options);
  return httpsRequest({
    ...options,
    ...(secureContext && { secureContext }),
    ...(tls?.serverName !== undefined && meantAs(tls.serverName)),
    ...(insecureSkipVerify && { rejectUnauthorized: false }),
  });
}

function headersOf({ headers = [], body, bodyStream }: HttpRequest): ReadonlyArray<readonly [string, string]> {
  // A server that means to close would do so as soon as it has answered, in the face of who is still sending.
  if (bodyStream !== undefined) return [...headers, ['Connection', 'keep-alive']];
  // Of a DELETE Node.js tells no length, and the server would take its body for the next request.
  return body === undefined ? headers : [...headers, ['Content-Length', String(Buffer.byteLength(body))]];
}

/** An address cannot be told to the server as whom is meant, and Node.js keeps no connection that was checked by hand. */
export function meantAs(name: string): Pick<ConnectionOptions, 'servername' | 'checkServerIdentity'> {
  if (!isIP(name)) return { servername: name };
  return { servername: '', checkServerIdentity: (_, shown) => checkServerIdentity(name, shown) };
}

/** Node.js writes a list of values as so many header lines, in the spelling of the first. */
export function groupedHeaders(headers: ReadonlyArray<readonly [string, string]>): Record<string, string | string[]> {
  const byName = new Map<string, { readonly name: string; readonly values: string[] }>();
  for (const [name, value] of headers) {
    const group = byName.get(name.toLowerCase()) ?? { name, values: [] };
    group.values.push(value);
    byName.set(name.toLowerCase(), group);
  }
  const entries = [...byName.values()].map(({ name, values }): [string, string | string[]] => {
    const [first = ''] = values;
    return [name, values.length === 1 || name.toLowerCase() === 'host' ? first : values];
  });
  return Object.fromEntries(entries);
}

export function plainHeaders({ headers }: IncomingMessage): Record<string, string> {
  const entries = Object.entries(headers).map(([name, value]) => [
    name,
    Array.isArray(value) ? value.join(', ') : value,
  ]);
  return Object.fromEntries(entries);
}

/** By hand, for a generator that nobody has begun to read would not notice that it is left. */
function bodyOf(response: IncomingMessage, signal: AbortSignal): AsyncIterable<Uint8Array> {
  const chunks: AsyncIterator<Uint8Array> = response[Symbol.asyncIterator]();
  const iterator: AsyncIterator<Uint8Array> = {
    async next() {
      try {
        return await chunks.next();
      } catch (error) {
        signal.throwIfAborted();
        throw asNetworkError(error);
      }
    },
    async return() {
      response.destroy();
      return { done: true, value: undefined };
    },
  };
  return { [Symbol.asyncIterator]: () => iterator };
}
