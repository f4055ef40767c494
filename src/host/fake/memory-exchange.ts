import {
  type HttpRequest,
  type HttpResponse,
  NetworkError,
  type ServerRequest,
  type ServerResponse,
} from '../network.ts';
import { unlessAborted } from './unless-aborted.ts';

/** A request as an in-memory listener gets it: with the headers and certificates of the client. */
export interface MemoryRequest extends ServerRequest {
  /** In the client's spelling. */
  readonly headers: ReadonlyArray<readonly [name: string, value: string]>;
  /** The client's certificates. */
  readonly certificates: readonly string[];
}

/** A rejection becomes a 500 with the error's text. */
export type MemoryHttpHandler = (request: MemoryRequest) => Promise<ServerResponse>;

/** One in-memory HTTP exchange. The client ends it by `signal`, the server by `severed`. */
export async function exchange(
  request: HttpRequest,
  handler: MemoryHttpHandler,
  { signal, severed }: { readonly signal: AbortSignal; readonly severed: AbortSignal },
): Promise<HttpResponse> {
  const over = AbortSignal.any([signal, severed]);
  const left = new AbortController();
  const gone = AbortSignal.any([over, left.signal]);
  const broken = Promise.withResolvers<never>();
  const { body = '', bodyStream } = request;
  const sent = bodyStream === undefined ? whole(body) : streamed(bodyStream, gone, broken.reject);
  const response = await Promise.race([unlessAborted(callHandler(request, handler, sent, gone), over), broken.promise]);
  const headers = Object.entries(response.headers ?? {}).map(([name, value]) => [name.toLowerCase(), value]);
  return {
    status: response.status,
    headers: Object.fromEntries(headers),
    body: responseBody(response, over, left),
  };
}

async function callHandler(
  request: HttpRequest,
  handler: MemoryHttpHandler,
  body: AsyncIterable<Uint8Array>,
  signal: AbortSignal,
): Promise<ServerResponse> {
  const { method, path: url, headers = [], tls } = request;
  const [path = '/', ...query] = url.split('?');
  const certificates = tls?.clientCertificates?.map(({ certificate }) => certificate) ?? [];
  const rawQuery = query.join('?');
  const sent = { method, path, query: new URLSearchParams(rawQuery), rawQuery, headers, certificates, body, signal };
  try {
    return await handler(sent);
  } catch (error) {
    return { status: 500, body: error instanceof Error ? error.message : String(error) };
  }
}

/** If the client's stream throws, the server sees a disconnect. */
async function* streamed(
  stream: AsyncIterable<Uint8Array>,
  gone: AbortSignal,
  broken: (error: unknown) => void,
): AsyncGenerator<Uint8Array> {
  const chunks = stream[Symbol.asyncIterator]();
  try {
    for (;;) {
      const next = await unlessAborted(chunks.next(), gone);
      if (next.done) return;
      yield next.value;
    }
  } catch (error) {
    broken(error);
    throw new NetworkError('ECONNRESET', 'aborted', { cause: error });
  } finally {
    void chunks.return?.().catch(() => {}); // not awaited: it may be busy
  }
}

async function* whole(body: string | Uint8Array): AsyncGenerator<Uint8Array> {
  if (body.length > 0) yield bytesOf(body);
}

async function* responseBody(
  { body }: ServerResponse,
  over: AbortSignal,
  left: AbortController,
): AsyncGenerator<Uint8Array> {
  if (typeof body === 'string') {
    over.throwIfAborted();
    if (body !== '') yield bytesOf(body);
    return;
  }
  const chunks = body[Symbol.asyncIterator]();
  try {
    for (;;) {
      const next = await unlessAborted(chunks.next(), over);
      if (next.done) return;
      yield bytesOf(next.value);
    }
  } finally {
    left.abort(new DOMException('the client has disconnected', 'AbortError'));
    // Not awaited: the server may be busy.
    void chunks.return?.().catch(() => {});
  }
}

function bytesOf(data: string | Uint8Array): Uint8Array {
  return typeof data === 'string' ? new TextEncoder().encode(data) : data;
}
