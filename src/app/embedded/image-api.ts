import { textOf } from '../../base/text-of.ts';
import { CriError, codeOfName } from '../../cri/cri-error.ts';
import type {
  HttpHandler,
  HttpResponse,
  HttpServer,
  Network,
  ServerRequest,
  ServerResponse,
} from '../../host/network.ts';
import type { ImageOperations } from './image-operations.ts';

type Verb = keyof ImageOperations;

const VERBS: readonly Verb[] = ['load', 'build', 'tag', 'list', 'remove'];

/**
 * `ImageOperations` for other processes of root: POST /v1/images/VERB with the request as JSON. A refusal is
 * `{code, message}` with status 500. Both ends are of one version: whoever serves the socket owns the folders.
 */
export function imageApi(operations: ImageOperations): HttpHandler {
  return async (request) => {
    const verb = VERBS.find((each) => request.method === 'POST' && request.path === `/v1/images/${each}`);
    if (verb === undefined) return { status: 404, body: 'not found\n' };
    try {
      return json(200, await call(operations, verb, request));
    } catch (error) {
      const code = error instanceof CriError ? error.code : 'Unknown';
      return json(500, { code, message: textOf(error) });
    }
  };
}

/** Answers from now on: who asks before the images are there waits for them. Whoever has the socket owns the folders. */
export function serveImages(
  network: Pick<Network, 'serve'>,
  socketPath: string,
  images: Promise<ImageOperations>,
): Promise<HttpServer> {
  images.catch(() => {}); // told by whoever opens them; nobody may be asking
  return network.serve({ socketPath, mode: 0o600 }, async (request) => imageApi(await images)(request));
}

async function call(operations: ImageOperations, verb: Verb, { body, signal }: ServerRequest): Promise<unknown> {
  const text = Buffer.concat(await Array.fromAsync(body)).toString('utf8');
  const operation = operations[verb] as (request: unknown, signal: AbortSignal) => Promise<unknown>; // the client's types
  return operation(JSON.parse(text), signal);
}

function json(status: number, value: unknown): ServerResponse {
  return { status, headers: { 'content-type': 'application/json' }, body: JSON.stringify(value) };
}

/** The other end. Rejects with a `NetworkError` when nobody serves the socket. */
export function imageClient(network: Pick<Network, 'request'>, socketPath: string): ImageOperations {
  const ask =
    <Request, Answer>(verb: Verb) =>
    async (request: Request, signal: AbortSignal): Promise<Answer> => {
      const path = `/v1/images/${verb}`;
      const response = await network.request(
        { target: { socketPath }, method: 'POST', path, body: JSON.stringify(request) },
        signal,
      );
      const text = await bodyText(response);
      if (response.status !== 200) throw refusal(text);
      return JSON.parse(text) as Answer; // as the other end of the same version wrote it
    };
  return { load: ask('load'), build: ask('build'), tag: ask('tag'), list: ask('list'), remove: ask('remove') };
}

async function bodyText({ body }: HttpResponse): Promise<string> {
  return Buffer.concat(await Array.fromAsync(body)).toString('utf8');
}

function refusal(text: string): CriError {
  try {
    const { code, message } = JSON.parse(text) as { readonly code: string; readonly message: string };
    return new CriError(codeOfName(code), message);
  } catch {
    return new CriError('Unknown', text.trim());
  }
}
