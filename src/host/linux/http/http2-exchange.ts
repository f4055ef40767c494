import { type ClientHttp2Stream, constants, type IncomingHttpHeaders, type OutgoingHttpHeaders } from 'node:http2';
import { type HttpRequest, type HttpResponse, NetworkError } from '../../network.ts';
import { groupedHeaders, StaleConnectionError } from './http-request.ts';
import { brokenBy, Http2Body } from './http2-body.ts';
import type { Http2Connection } from './http2-connection.ts';
import { authorityOf } from './http2-dial.ts';

const { NGHTTP2_REFUSED_STREAM } = constants;

/** What HTTP/2 says in other ways, or does not allow. */
const OF_THE_CONNECTION = /^(host|connection|keep-alive|proxy-connection|transfer-encoding|upgrade)$/i;

/** The server has not heard it: whatever it is may be asked again. */
export class UnheardError extends NetworkError {}

/** One exchange on a connection that has room for it. */
export function exchangeOn(
  connection: Http2Connection,
  request: HttpRequest,
  signal: AbortSignal,
): Promise<HttpResponse> {
  return new Promise((resolve, reject) => {
    signal.throwIfAborted();
    const { body } = request;
    // The signal's end is told to the server by RST_STREAM with CANCEL.
    const stream = connection.start(headersOf(request), { endStream: body === undefined, signal });
    const answerBody = Http2Body.of(stream, signal);
    // Stays after the answer came: a failure then reaches the reader of the body, and must not end the process.
    stream.on('error', (error) => reject(signal.aborted ? signal.reason : failureOf(stream, connection, error)));
    let isAnswered = false;
    stream.once('close', () => {
      if (isAnswered) return;
      const error = new NetworkError('ECONNRESET', 'the connection ended without an answer');
      reject(signal.aborted ? signal.reason : failureOf(stream, connection, error));
    });
    stream.once('response', (headers) => {
      isAnswered = true;
      connection.hasAnswered = true;
      resolve({ status: headers[':status'] ?? 0, headers: plainHeaders(headers), body: answerBody });
    });
    if (body !== undefined) stream.end(body);
  });
}

function headersOf({ target, method, path, headers = [], body }: HttpRequest): OutgoingHttpHeaders {
  const host = headers.find(([name]) => name.toLowerCase() === 'host')?.[1];
  const rest = headers.filter(([name]) => !OF_THE_CONNECTION.test(name));
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

function failureOf(stream: ClientHttp2Stream, connection: Http2Connection, error: Error): NetworkError {
  const failure = brokenBy(error);
  const { code, message } = failure;
  if (connection.isUnheard(stream, NGHTTP2_REFUSED_STREAM)) return new UnheardError(code, message, { cause: error });
  const isStale = connection.isBroken && connection.hasAnswered;
  return isStale ? new StaleConnectionError(code, message, { cause: error }) : failure;
}
