import { STATUS_CODES } from 'node:http';
import { type ClientHttp2Session, type ClientHttp2Stream, connect, type IncomingHttpHeaders } from 'node:http2';
import {
  type DialTarget,
  type GrpcConnection,
  type GrpcRequest,
  type GrpcResponse,
  NetworkError,
} from '../../network.ts';
import { connectTo } from '../net/dial.ts';
import { asNetworkError } from '../net/network-error.ts';

/** Each message has a prefix of one flag byte and four length bytes. */
const PREFIX_BYTES = 5;
/** The default of gRPC libraries. */
const MAX_MESSAGE_BYTES = 4 * 1024 * 1024;

const UNKNOWN = 2;
const RESOURCE_EXHAUSTED = 8;
const UNIMPLEMENTED = 12;
const INTERNAL = 13;
const UNAVAILABLE = 14;

/** gRPC's table for HTTP responses of proxies and other servers. */
const CODES_OF_STATUS: Readonly<Record<number, number>> = {
  400: INTERNAL,
  401: 16,
  403: 7,
  404: UNIMPLEMENTED,
  429: UNAVAILABLE,
  502: UNAVAILABLE,
  503: UNAVAILABLE,
  504: UNAVAILABLE,
};

/** Resolves when the server's SETTINGS have arrived, as in gRPC libraries. */
export function connectGrpc(target: DialTarget, userAgent: string, signal: AbortSignal): Promise<GrpcConnection> {
  return new Promise((resolve, reject) => {
    signal.throwIfAborted();
    const socket = connectTo(target);
    const authority = authorityOf(target);
    const session = connect(`http://${authority}`, { createConnection: () => socket });
    const fail = (error: unknown): void => {
      signal.removeEventListener('abort', onAbort);
      reject(error);
      session.destroy();
    };
    const onAbort = (): void => fail(signal.reason);
    signal.addEventListener('abort', onAbort, { once: true });
    // Stays after the connect: each call gets its own error, and an unhandled one would end the process.
    session.on('error', (error) => fail(asNetworkError(error)));
    const onClose = (): void =>
      fail(new NetworkError('ECONNRESET', 'the connection ended before the handshake was complete'));
    session.once('close', onClose);
    session.once('remoteSettings', () => {
      signal.removeEventListener('abort', onAbort);
      session.off('close', onClose);
      resolve(connectionOf(session, authority, userAgent));
    });
  });
}

function authorityOf(target: DialTarget): string {
  if ('socketPath' in target) return 'localhost';
  return target.host.includes(':') ? `[${target.host}]:${target.port}` : `${target.host}:${target.port}`;
}

function connectionOf(session: ClientHttp2Session, authority: string, userAgent: string): GrpcConnection {
  return {
    call: (request, signal) => call(session, { authority, userAgent, ...request }, signal),
    close: () => session.destroy(),
  };
}

interface Call extends GrpcRequest {
  readonly authority: string;
  readonly userAgent: string;
}

async function call(session: ClientHttp2Session, request: Call, signal: AbortSignal): Promise<GrpcResponse> {
  signal.throwIfAborted();
  if (session.destroyed) throw new NetworkError('ECONNRESET', 'the connection is closed');
  const stream = session.request({
    ':method': 'POST',
    ':scheme': 'http',
    ':authority': request.authority,
    ':path': request.path,
    'content-type': 'application/grpc',
    'user-agent': request.userAgent,
    te: 'trailers',
    'grpc-timeout': `${Math.max(1, Math.round(request.timeoutMs))}m`,
  });
  const onAbort = (): void => void stream.destroy();
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    stream.end(framed(request.message));
    return await readResponse(stream);
  } catch (error) {
    signal.throwIfAborted();
    throw asNetworkError(error);
  } finally {
    signal.removeEventListener('abort', onAbort);
    stream.destroy();
  }
}

/** The status is in the trailers, or in the headers of a response without a message. */
function readResponse(stream: ClientHttp2Stream): Promise<GrpcResponse> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let length = 0;
    let headers: IncomingHttpHeaders = {};
    let trailers: IncomingHttpHeaders = {};
    stream.on('response', (given) => {
      headers = given;
      if (given[':status'] !== 200 || !isGrpc(given)) resolve(responseOfOtherServer(given));
    });
    stream.on('trailers', (given) => {
      trailers = given;
    });
    stream.on('data', (chunk: Buffer) => {
      chunks.push(chunk);
      length += chunk.length;
      if (length > MAX_MESSAGE_BYTES) resolve(tooLarge(length));
    });
    stream.on('error', reject);
    const endedEarly = (): void => reject(new NetworkError('ECONNRESET', 'the stream ended early'));
    stream.once('close', endedEarly);
    stream.on('end', () => {
      const status = trailers['grpc-status'] === undefined ? headers : trailers;
      if (status['grpc-status'] === undefined) return endedEarly();
      stream.off('close', endedEarly);
      return resolve(asGrpcResponse(status, Buffer.concat(chunks)));
    });
  });
}

function isGrpc(headers: IncomingHttpHeaders): boolean {
  return headers['content-type']?.startsWith('application/grpc') ?? false;
}

function asGrpcResponse(headers: IncomingHttpHeaders, body: Buffer): GrpcResponse {
  const number = Number(headers['grpc-status']);
  const code = Number.isInteger(number) ? number : UNKNOWN;
  if (code !== 0) return { code, details: decodedText(String(headers['grpc-message'] ?? '')), message: EMPTY };
  const end = body.length < PREFIX_BYTES ? -1 : PREFIX_BYTES + body.readUInt32BE(1);
  if (end !== body.length) return { code: INTERNAL, details: 'malformed message', message: EMPTY };
  if (body[0] !== 0) return { code: UNIMPLEMENTED, details: 'compressed message', message: EMPTY };
  return { code, details: '', message: new Uint8Array(body.subarray(PREFIX_BYTES)) };
}

const EMPTY = new Uint8Array();

/** The texts of grpc-go for a response that is not gRPC. */
function responseOfOtherServer(headers: IncomingHttpHeaders): GrpcResponse {
  const status = Number(headers[':status']);
  const type = headers['content-type'];
  const ofStatus = `unexpected HTTP status code received from server: ${status} (${STATUS_CODES[status] ?? ''})`;
  const ofType =
    type === undefined
      ? 'malformed header: missing HTTP content-type'
      : `transport: received unexpected content-type ${JSON.stringify(type)}`;
  const errors = [...(status === 200 ? [] : [ofStatus]), ...(isGrpc(headers) ? [] : [ofType])];
  return { code: CODES_OF_STATUS[status] ?? UNKNOWN, details: errors.join('; '), message: EMPTY };
}

function tooLarge(length: number): GrpcResponse {
  const details = `grpc: received message larger than max (${length} vs. ${MAX_MESSAGE_BYTES})`;
  return { code: RESOURCE_EXHAUSTED, details, message: EMPTY };
}

function framed(message: Uint8Array): Buffer {
  const frame = Buffer.alloc(PREFIX_BYTES + message.length);
  frame.writeUInt32BE(message.length, 1);
  frame.set(message, PREFIX_BYTES);
  return frame;
}

/** Decodes percent-encoding; a malformed text is returned unchanged. */
function decodedText(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
