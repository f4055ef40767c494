import { decodeChunks } from '../../base/byte-chunks.ts';
import type { Random } from '../../host/random.ts';
import { collectionPath, queryString } from './api-paths.ts';
import { ApiError, type ApiObjects, type Resource, type Selection, type WatchEvent } from './api-server.ts';
import { errorFromStatus } from './api-status.ts';
import type { HttpCalls } from './http-calls.ts';
import { asObject, decodeObject, resourceVersionOf } from './wire-objects.ts';

/** As client-go's reflector: between this and twice as long, so that watches do not all restart together. */
const SHORTEST_WATCH_S = 300;
const NEWLINE = 0x0a;

export interface WatchDeps {
  readonly calls: HttpCalls;
  readonly random: Random;
}

/**
 * All changes as the server sends them, one JSON text per line. Ends without an error when the server closes the watch
 * or the client's identity changes: the next watch resumes from there.
 */
export async function* watchObjects<R extends Resource>(
  selection: Selection<R> & { readonly resourceVersion: string },
  { calls, random }: WatchDeps,
  signal: AbortSignal,
): AsyncGenerator<WatchEvent<ApiObjects[R]>> {
  const { resource, fieldSelector, resourceVersion } = selection;
  const query = queryString({
    watch: 'true',
    allowWatchBookmarks: 'true',
    timeoutSeconds: String(Math.floor(SHORTEST_WATCH_S * (1 + random.fraction()))),
    resourceVersion,
    fieldSelector,
  });
  const left = new AbortController();
  const until = AbortSignal.any([signal, left.signal]);
  using answer = await calls.open({ method: 'GET', path: `${collectionPath(selection)}${query}` }, until);
  const { response, outdated } = answer;
  outdated.addEventListener('abort', () => left.abort(), { signal: left.signal });
  if (outdated.aborted) left.abort();
  try {
    for await (const line of wholeLines(response.body)) yield decodeEvent(resource, line);
  } catch (error) {
    if (signal.aborted || !outdated.aborted) throw calls.readError(error, signal);
  } finally {
    left.abort();
  }
}

function decodeEvent<R extends Resource>(resource: R, line: string): WatchEvent<ApiObjects[R]> {
  const { type, object } = asObject(parseJson(line));
  switch (type) {
    case 'ADDED':
    case 'MODIFIED':
    case 'DELETED':
      return { type, object: decodeObject(resource, object), resourceVersion: resourceVersionOf(object) };
    case 'BOOKMARK':
      return { type, resourceVersion: resourceVersionOf(object) };
    case 'ERROR':
      throw errorFromStatus(object);
    default:
      throw new ApiError('InternalError', 'unknown watch event type');
  }
}

function parseJson(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    throw new ApiError('InternalError', 'the watch event is not JSON');
  }
}

/** The complete lines of a chunked stream. Text after the last newline was cut off and is dropped. */
export async function* wholeLines(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<string, void> {
  let pending: Uint8Array[] = [];
  for await (const chunk of chunks) {
    let start = 0;
    for (let end = chunk.indexOf(NEWLINE); end !== -1; end = chunk.indexOf(NEWLINE, start)) {
      const line = decodeChunks([...pending, chunk.subarray(start, end)]);
      pending = [];
      start = end + 1;
      if (line !== '') yield line;
    }
    if (start < chunk.length) pending.push(chunk.subarray(start));
  }
}
