import { collectText, limitBytes } from '../../base/byte-chunks.ts';
import type { ServerRequest } from '../../host/network.ts';
import { ApiError } from './api-error.ts';
import type { PodReference } from './find-pod.ts';
import type { ExecQuery, LogsQuery } from './local-api-types.ts';

/** Largest request body: a command line is short. */
const MAX_BODY_BYTES = 1024 * 1024;

/** The pod of `/v1/pods/NAME/…?namespace=`. */
export function podReference({ path, query }: ServerRequest): PodReference {
  const name = decodeURIComponent(path.split('/')[3] ?? '');
  return { name, namespace: query.get('namespace') ?? undefined };
}

export function logsQuery(request: ServerRequest): LogsQuery {
  const { query } = request;
  return {
    pod: podReference(request),
    container: query.get('container') ?? undefined,
    follow: flag(request, 'follow'),
    previous: flag(request, 'previous'),
    timestamps: flag(request, 'timestamps'),
    tailLines: wholeNumber(request, 'tail'),
    sinceMs: wholeNumber(request, 'since'),
    limitBytes: wholeNumber(request, 'limit'),
  };
}

export async function execQuery(request: ServerRequest): Promise<ExecQuery> {
  const body = await jsonBody(request);
  const { container, command, stdin = false, tty = false } = body;
  if (!Array.isArray(command) || !command.every((part): part is string => typeof part === 'string')) {
    throw new ApiError('BadRequest', 'command must be an array of strings');
  }
  if (typeof stdin !== 'boolean' || typeof tty !== 'boolean') {
    throw new ApiError('BadRequest', 'stdin and tty must be true or false');
  }
  if (container !== undefined && typeof container !== 'string') {
    throw new ApiError('BadRequest', 'container must be a string');
  }
  return { pod: podReference(request), container, command, stdin, tty };
}

/** Seconds that may be absent. */
export function seconds(request: ServerRequest, name: string): number | undefined {
  return wholeNumber(request, name);
}

function flag({ query }: ServerRequest, name: string): boolean {
  const text = query.get(name) ?? 'false';
  if (text !== 'true' && text !== 'false') throw new ApiError('BadRequest', `${name} must be true or false: ${text}`);
  return text === 'true';
}

function wholeNumber({ query }: ServerRequest, name: string): number | undefined {
  const text = query.get(name);
  if (text === null) return undefined;
  if (!/^\d{1,15}$/.test(text)) throw new ApiError('BadRequest', `${name} must be a whole number: ${text}`);
  return Number(text);
}

async function jsonBody(request: ServerRequest): Promise<Record<string, unknown>> {
  const tooLong = (): ApiError => new ApiError('BadRequest', 'the request is too long');
  const value = parseJson(await collectText(limitBytes(request.body, MAX_BODY_BYTES, tooLong)));
  if (typeof value !== 'object' || value === null) throw new ApiError('BadRequest', 'the request must be an object');
  return { ...value };
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new ApiError('BadRequest', `the request is not JSON: ${text.slice(0, 100)}`, { cause: error });
  }
}
