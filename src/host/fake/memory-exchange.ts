import type { HttpRequest, HttpResponse, ServerRequest, ServerResponse } from '../network.ts';
import { unlessAborted } from './unless-aborted.ts';

/** What a listener in memory sees of a request: what a real server would, and the headers. */
export interface MemoryRequest extends ServerRequest {
  /** As the client gave them. */
  readonly headers: ReadonlyArray<readonly [name: string, value: string]>;
}

/** A rejection becomes a 500 with the error's text. */
export type MemoryHttpHandler = (request: MemoryRequest) => Promise<ServerResponse>;

/** One HTTP exchange without a wire. The client ends it by `signal`, the server by `severed`. */
export async function exchange(
  request: HttpRequest,
  handler: MemoryHttpHandler,
  { signal, severed }: { readonly signal: AbortSignal; readonly severed: AbortSignal },
): Promise<HttpResponse> {
  const over = AbortSignal.any([signal, severed]);
  const left = new AbortController();
  const gone = AbortSignal.any([over, left.signal]);
  const response = await unlessAborted(answer(request, handler, gone), over);
  const headers = Object.entries(response.headers ?? {}).map(([name, value]) => [name.toLowerCase(), value]);
  return {
    status: response.status,
    headers: Object.fromEntries(headers),
    body: bodyOf(response, over, left),
  };
}

async function answer(request: HttpRequest, handler: MemoryHttpHandler, signal: AbortSignal): Promise<ServerResponse> {
  const { method, path: url, headers = [], body = '' } = request;
  const [path = '/', ...query] = url.split('?');
  const sent = { method, path, query: new URLSearchParams(query.join('?')), headers, body: whole(body), signal };
  try {
    return await handler(sent);
  } catch (error) {
    return { status: 500, body: error instanceof Error ? error.message : String(error) };
  }
}

async function* whole(body: string | Uint8Array): AsyncGenerator<Uint8Array> {
  if (body.length > 0) yield bytesOf(body);
}

async function* bodyOf({ body }: ServerResponse, over: AbortSignal, left: AbortController): AsyncGenerator<Uint8Array> {
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
    left.abort(new DOMException('the client is gone', 'AbortError'));
    // Not waited for: the server may be in the middle of something.
    void chunks.return?.().catch(() => {});
  }
}

function bytesOf(data: string | Uint8Array): Uint8Array {
  return typeof data === 'string' ? new TextEncoder().encode(data) : data;
}
