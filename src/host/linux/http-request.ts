import { type ClientRequest, request as httpRequest, type IncomingMessage, type RequestOptions } from 'node:http';
import { request as httpsRequest } from 'node:https';
// As a whole: an older Node.js has to get as far as saying that it is too old.
import * as tls from 'node:tls';
import { type HttpRequest, type HttpResponse, NetworkError } from '../network.ts';
import { addressOf } from './dial.ts';
import { asNetworkError } from './network-error.ts';

/** One exchange on a connection of its own. */
export function request(request: HttpRequest, signal: AbortSignal): Promise<HttpResponse> {
  return new Promise((resolve, reject) => {
    signal.throwIfAborted();
    const exchange = start(request);
    const onAbort = (): void => void exchange.destroy();
    signal.addEventListener('abort', onAbort, { once: true });
    let isAnswered = false;
    exchange.once('close', () => {
      signal.removeEventListener('abort', onAbort);
      if (!isAnswered) reject(new NetworkError('ECONNRESET', 'the connection ended without an answer'));
    });
    // Stays after the answer came: a failure then reaches the reader of the body, and must not end the process.
    exchange.on('error', (error) => reject(signal.aborted ? signal.reason : asNetworkError(error)));
    exchange.once('response', (response) => {
      isAnswered = true;
      resolve({
        status: response.statusCode ?? 0,
        headers: plainHeaders(response),
        body: bodyOf(response, signal),
      });
    });
    exchange.end(request.body);
  });
}

function start({ target, scheme, insecureSkipVerify, method, path, headers = [] }: HttpRequest): ClientRequest {
  const options: RequestOptions = {
    ...addressOf(target),
    agent: false,
    method,
    path,
    headers: grouped(headers),
  };
  if (scheme !== 'https') return httpRequest(options);
  if (insecureSkipVerify) return httpsRequest({ ...options, rejectUnauthorized: false });
  return httpsRequest({ ...options, ca: authorities() });
}

let known: readonly string[] | undefined;

/** Those that the machine trusts, beside those that Node.js brings along; read when they are first needed. */
function authorities(): string[] {
  known ??= [...new Set([...tls.getCACertificates('default'), ...tls.getCACertificates('system')])];
  return [...known];
}

/** Node.js writes a list of values as so many header lines, in the spelling of the first. */
function grouped(headers: ReadonlyArray<readonly [string, string]>): Record<string, string | string[]> {
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

function plainHeaders({ headers }: IncomingMessage): Record<string, string> {
  const entries = Object.entries(headers).map(([name, value]) => [
    name,
    Array.isArray(value) ? value.join(', ') : value,
  ]);
  return Object.fromEntries(entries);
}

async function* bodyOf(response: IncomingMessage, signal: AbortSignal): AsyncGenerator<Uint8Array> {
  try {
    for await (const chunk of response) yield chunk;
  } catch (error) {
    signal.throwIfAborted();
    throw asNetworkError(error);
  }
}
