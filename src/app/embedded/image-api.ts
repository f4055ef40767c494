import { collectText } from '../../base/byte-chunks.ts';
import { CriError } from '../../cri/cri-error.ts';
import type { Clock } from '../../host/clock.ts';
import type { FolderHolder } from '../../host/folder-claims.ts';
import type { Host } from '../../host/host.ts';
import {
  type HttpHandler,
  type HttpResponse,
  type HttpServer,
  type Network,
  NetworkError,
  type ServerRequest,
  type ServerResponse,
} from '../../host/network.ts';
import { UnexpectedEofError } from '../../runtime/images/archive/byte-reader.ts';
import { decodeFrames, encodeFrames } from './archive-frames.ts';
import { decodeError, type EncodedError, encodeError } from './encoded-error.ts';
import type { ImageChoice, ImageOperations, ImagePull } from './image-operations.ts';
import { pullEvents, readPullEvents } from './pull-events.ts';

/** Operations with one JSON request and one JSON response. */
type JsonVerb = Exclude<keyof ImageOperations, 'pull' | 'save'>;

const JSON_VERBS: readonly JsonVerb[] = ['load', 'build', 'tag', 'list', 'remove'];

const ROOT = '/v1/images';

/** GET: the process that owns the folders, as JSON. */
export const OWNER_PATH = '/v1/owner';

/**
 * Serves `ImageOperations` to other processes of root: POST /v1/images/VERB with the request as JSON. An error is
 * `{code, message}` with status 500. `pull` responds with lines of JSON (pull-events.ts), `save` with an archive in frames
 * (archive-frames.ts), and `archive` has one as its request body. Client and server are of the same version.
 */
export function imageApi(operations: ImageOperations, clock: Pick<Clock, 'sleep'>): HttpHandler {
  return async (httpRequest) => {
    const { method, path, body, signal } = httpRequest;
    const verb = method === 'POST' && path.startsWith(`${ROOT}/`) ? path.slice(ROOT.length + 1) : '';
    const jsonVerb = JSON_VERBS.find((each) => each === verb);
    if (jsonVerb !== undefined) return respond(() => callOperation(operations, jsonVerb, httpRequest));
    if (verb === 'archive') return respond(() => operations.load({ bytes: body }, signal));
    if (verb === 'pull') {
      const request = (await readJson(body)) as ImagePull; // the client has the same types, here and below
      return streamResponse(
        'application/x-ndjson',
        pullEvents((watch) => operations.pull(request, signal, watch), clock),
      );
    }
    if (verb === 'save') {
      const request = (await readJson(body)) as ImageChoice;
      return streamResponse('application/octet-stream', encodeFrames(operations.save(request, signal)));
    }
    return { status: 404, body: 'not found\n' };
  };
}

/** Serves at once: image requests wait until `images` resolves, requests for `owner` do not. */
export function serveImages(
  { network, clock }: Pick<Host, 'network' | 'clock'>,
  socketPath: string,
  images: Promise<ImageOperations>,
  owner: FolderHolder,
): Promise<HttpServer> {
  images.catch(() => {}); // the opener reports the error; there may be no request
  return network.serve({ socketPath, mode: 0o600 }, async (request) => {
    if (request.method === 'GET' && request.path === OWNER_PATH) return jsonResponse(200, owner);
    return imageApi(await images, clock)(request);
  });
}

/** The client. Rejects with a `NetworkError` if no process serves the socket. */
export function imageClient(network: Pick<Network, 'request'>, socketPath: string): ImageOperations {
  const post = (
    path: string,
    body: Pick<Parameters<Network['request']>[0], 'body' | 'bodyStream'>,
    signal: AbortSignal,
  ) => network.request({ target: { socketPath }, method: 'POST', path: `${ROOT}/${path}`, ...body }, signal);
  const ask =
    <Request, Answer>(verb: JsonVerb) =>
    async (request: Request, signal: AbortSignal): Promise<Answer> =>
      readAnswer(await post(verb, { body: JSON.stringify(request) }, signal));
  return {
    async load(archive, signal) {
      const isFile = 'path' in archive;
      const body = isFile ? { body: JSON.stringify(archive) } : { bodyStream: archive.bytes };
      return readAnswer(await post(isFile ? 'load' : 'archive', body, signal));
    },
    async pull(request, signal, watch) {
      const response = await post('pull', { body: JSON.stringify(request) }, signal);
      if (response.status !== 200) throw await readError(response);
      return rethrowIfDisconnected('the pull', readPullEvents(response.body, watch));
    },
    async *save(request, signal) {
      const response = await post('save', { body: JSON.stringify(request) }, signal);
      if (response.status !== 200) throw await readError(response);
      try {
        yield* decodeFrames(response.body);
      } catch (error) {
        throw asDisconnected('the archive', error);
      }
    },
    build: ask('build'),
    tag: ask('tag'),
    list: ask('list'),
    remove: ask('remove'),
  };
}

async function callOperation(operations: ImageOperations, verb: JsonVerb, { body, signal }: ServerRequest) {
  const operation = operations[verb] as (request: unknown, signal: AbortSignal) => Promise<unknown>; // the client has the same types
  return operation(await readJson(body), signal);
}

async function respond(work: () => Promise<unknown>): Promise<ServerResponse> {
  try {
    return jsonResponse(200, await work());
  } catch (error) {
    return jsonResponse(500, encodeError(error));
  }
}

async function readJson(body: AsyncIterable<Uint8Array>): Promise<unknown> {
  return JSON.parse(await collectText(body));
}

function jsonResponse(status: number, value: unknown): ServerResponse {
  return { status, headers: { 'content-type': 'application/json' }, body: JSON.stringify(value) };
}

function streamResponse(type: string, body: AsyncIterable<string | Uint8Array>): ServerResponse {
  return { status: 200, headers: { 'content-type': type }, body };
}

async function readAnswer<Answer>(response: HttpResponse): Promise<Answer> {
  if (response.status !== 200) throw await readError(response);
  return JSON.parse(await collectText(response.body)) as Answer; // written by a server of the same version
}

async function readError(response: HttpResponse): Promise<CriError> {
  const text = await collectText(response.body);
  try {
    return decodeError(JSON.parse(text) as EncodedError);
  } catch {
    return new CriError('Unknown', text.trim());
  }
}

async function rethrowIfDisconnected<T>(what: string, work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    throw asDisconnected(what, error);
  }
}

/** A connection that is closed before the end means that the runtime has exited. */
function asDisconnected(what: string, error: unknown): unknown {
  const isCut = error instanceof NetworkError || error instanceof UnexpectedEofError;
  return isCut ? new CriError('Unavailable', `the runtime ended before ${what} did`, { cause: error }) : error;
}
