import { type ClientHttp2Stream, constants, type IncomingHttpHeaders, type OutgoingHttpHeaders } from 'node:http2';
import { type HttpRequest, type HttpResponse, NetworkError } from '../../network.ts';
import { groupedHeaders, StaleConnectionError } from './http-request.ts';
import { asStreamError, Http2Body } from './http2-body.ts';
import type { Http2Connection } from './http2-connection.ts';
import { authorityOf } from './http2-dial.ts';

const { NGHTTP2_REFUSED_STREAM } = constants;

/** Headers that HTTP/2 replaces or forbids. */
const CONNECTION_HEADERS = /^(host|connection|keep-alive|proxy-connection|transfer-encoding|upgrade)$/i;

/** The server has not processed the request: any request may be retried. */
export class UnprocessedRequestError extends NetworkError {}

/** One exchange on a connection with room. */
export function exchangeOn(
  connection: Http2Connection,
  request: HttpRequest,
  signal: AbortSignal,
): Promise<HttpResponse> {
  return new Promise((resolve, reject) => {
    signal.throwIfAborted();
    const { body } = request;
    // An abort sends RST_STREAM with CANCEL.
    const stream = connection.start(headersOf(request), { endStream: body === undefined, signal });
    const responseBody = Http2Body.of(stream, signal);
    // Stays after the response: a later error reaches the reader of the body, and must not end the process.
    stream.on('error', (error) => reject(signal.aborted ? signal.reason : asExchangeError(stream, connection, error)));
    let hasResponse = false;
    stream.once('close', () => {
      if (hasResponse) return;
      const error = new NetworkError('ECONNRESET', 'the connection ended without a response');
      reject(signal.aborted ? signal.reason : asExchangeError(stream, connection, error));
    });
    stream.once('response', (headers) => {
      hasResponse = true;
      connection.hasResponded = true;
      resolve({ status: headers[':status'] ?? 0, headers: plainHeaders(headers), body: responseBody });
    });
    if (body !== undefined) stream.end(body);
  });
}

function headersOf({ target, method, path, headers = [], body }: HttpRequest): OutgoingHttpHeaders {
  const host = headers.find(([name]) => name.toLowerCase() === 'host')?.[1];
  const rest = headers.filter(([name]) => !CONNECTION_HEADERS.test(name));
  const authority = 'host' in target ? authorityOf(target.host, target.port) : 'localhost';
  return {
    ':method': method,
    ':scheme': 'https',
    ':authority': host ?? authority,
    ':path': path,
    ...groupedHeaders(rest),
    ...(body !== undefined && { 'content-length': String(Buffer.byteLength(body)) }),
  };
}

function plainHeaders(headers: IncomingHttpHeaders): Record<string, string> {
  const entries = Object.entries(headers)
    .filter(([name]) => !name.startsWith(':'))
    .map(([name, value]) => [name, Array.isArray(value) ? value.join(', ') : String(value)]);
  return Object.fromEntries(entries);
}

function asExchangeError(stream: ClientHttp2Stream, connection: Http2Connection, error: Error): NetworkError {
  const streamError = asStreamError(error);
  const { code, message } = streamError;
  if (connection.isUnprocessed(stream, NGHTTP2_REFUSED_STREAM))
    return new UnprocessedRequestError(code, message, { cause: error });
  const isStale = connection.isBroken && connection.hasResponded;
  return isStale ? new StaleConnectionError(code, message, { cause: error }) : streamError;
}
