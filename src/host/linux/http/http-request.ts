import { once } from 'node:events';
import { type ClientRequest, request as httpRequest, type IncomingMessage, type RequestOptions } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { isIP } from 'node:net';
import { type ConnectionOptions, checkServerIdentity, type SecureContext } from 'node:tls';
import { type HttpRequest, type HttpResponse, NetworkError, type TlsSettings } from '../../network.ts';
import { requireIpAddress } from '../net/dial.ts';
import { asNetworkError } from '../net/network-error.ts';
import { secureContexts } from './tls-context.ts';

/** One exchange on a new connection. */
export function request(request: HttpRequest, signal: AbortSignal): Promise<HttpResponse> {
  return withContext(request, (context) => exchange(request, context, false, signal));
}

/** Tries our client certificates in order until the server accepts one. */
export async function withContext(
  { scheme, insecureSkipVerify, tls }: HttpRequest,
  send: (context: SecureContext | undefined) => Promise<HttpResponse>,
): Promise<HttpResponse> {
  const needsContext = scheme === 'https' && (tls !== undefined || !insecureSkipVerify);
  const [first, ...others] = needsContext ? contextsOf(tls) : [undefined];
  let response = send(first);
  for (const context of others) {
    response = response.catch((error: unknown) => {
      if (!isCertificateRejected(error)) throw error;
      return send(context);
    });
  }
  return response;
}

type Contexts = ReturnType<typeof secureContexts>;

/** Settings are immutable, and frequent callers reuse one object. */
const contextsBySettings = new WeakMap<TlsSettings, Contexts>();

function contextsOf(settings: TlsSettings | undefined): Contexts {
  try {
    if (settings === undefined) return secureContexts(undefined);
    return contextsBySettings.getOrInsertComputed(settings, () => secureContexts(settings));
  } catch (error) {
    throw asNetworkError(error); // an invalid certificate, or one that does not match its key
  }
}

/** One HTTP/1.1 exchange, on an idle or new connection of the agent. */
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
    let hasResponse = false;
    exchange.once('close', () => {
      signal.removeEventListener('abort', onAbort);
      if (!hasResponse) reject(new NetworkError('ECONNRESET', 'the connection ended without a response'));
    });
    // Stays after the response: a later error reaches the reader of the body, and must not end the process.
    exchange.on('error', (error) => reject(signal.aborted ? signal.reason : asExchangeError(exchange, error)));
    exchange.once('response', (response) => {
      hasResponse = true;
      resolve({
        status: response.statusCode ?? 0,
        headers: plainHeaders(response),
        body: responseBody(response, signal),
      });
    });
    if (request.connectUntil) limitConnecting(exchange, request.connectUntil);
    if (request.bodyStream === undefined) exchange.end(request.body);
    else
      sendBodyStream(exchange, request.bodyStream).catch((error: unknown) => {
        reject(error); // before the close event rejects with another error
        exchange.destroy();
      });
  });
}

/** The server closed an idle connection before it received the request. */
export class StaleConnectionError extends NetworkError {}

function asExchangeError(exchange: ClientRequest, error: Error): NetworkError {
  const networkError = asNetworkError(error);
  const { code, message } = networkError;
  const isStale = exchange.reusedSocket && (code === 'ECONNRESET' || code === 'EPIPE');
  return isStale ? new StaleConnectionError(code, message, { cause: error }) : networkError;
}

/** The server may accept another client certificate. Some servers send an alert, others disconnect after the handshake. */
function isCertificateRejected(error: unknown): boolean {
  return (
    error instanceof NetworkError && (error.code === 'ECONNRESET' || /alert/i.test(`${error.code} ${error.message}`))
  );
}

function limitConnecting(exchange: ClientRequest, until: AbortSignal): void {
  exchange.once('socket', (socket) => {
    if (!socket.connecting) return;
    const onAbort = (): void => {
      exchange.destroy(
        new NetworkError('ETIMEDOUT', 'the connection was not established in time', { cause: until.reason }),
      );
    };
    const forget = (): void => until.removeEventListener('abort', onAbort);
    until.addEventListener('abort', onAbort, { once: true });
    socket.once('connect', forget);
    socket.once('close', forget);
    if (until.aborted) onAbort();
  });
}

/** Stops when the server responds, which may be before the whole body is sent: the server then does not read the rest. */
async function sendBodyStream(exchange: ClientRequest, body: AsyncIterable<Uint8Array>): Promise<void> {
  const over = new AbortController();
  exchange.once('close', () => over.abort());
  exchange.once('response', (response: IncomingMessage) => {
    over.abort();
    response.once('end', () => exchange.destroy()); // the connection would wait for the rest of the body
  });
  for await (const chunk of body) {
    if (over.signal.aborted) return;
    if (!exchange.write(chunk)) await once(exchange, 'drain', { signal: over.signal }).catch(() => {}); // followed by 'error'
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
    ...(proxy === undefined ? requireIpAddress(target) : target),
    agent,
    method,
    path,
    headers: groupedHeaders(headersOf(request)),
  };
  if (scheme !== 'https') return httpRequest(options);
  return httpsRequest({
    ...options,
    ...(secureContext && { secureContext }),
    ...(tls?.serverName !== undefined && serverIdentityOptions(tls.serverName)),
    ...(insecureSkipVerify && { rejectUnauthorized: false }),
  });
}

function headersOf({ headers = [], body, bodyStream }: HttpRequest): ReadonlyArray<readonly [string, string]> {
  // With `close` a server may close right after its response, while the body is still being sent.
  if (bodyStream !== undefined) return [...headers, ['Connection', 'keep-alive']];
  // Node.js sends no length for a DELETE, and the server would parse its body as the next request.
  return body === undefined ? headers : [...headers, ['Content-Length', String(Buffer.byteLength(body))]];
}

/** SNI does not allow IP addresses, so these are verified here; Node.js does not keep such connections alive. */
export function serverIdentityOptions(name: string): Pick<ConnectionOptions, 'servername' | 'checkServerIdentity'> {
  if (!isIP(name)) return { servername: name };
  return { servername: '', checkServerIdentity: (_, certificate) => checkServerIdentity(name, certificate) };
}

/** Groups values by name: Node.js sends a list of values as separate header lines, with the first spelling. */
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

/** Not a generator: `return` of a generator that was never started would not destroy the response. */
function responseBody(response: IncomingMessage, signal: AbortSignal): AsyncIterable<Uint8Array> {
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
