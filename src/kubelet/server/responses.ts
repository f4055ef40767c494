import type { ServerResponse } from '../../host/network.ts';

type Headers = Readonly<Record<string, string>>;

export const PLAIN_TEXT: Headers = { 'content-type': 'text/plain; charset=utf-8' };
/** Clients must not guess the content type. */
export const NO_SNIFFING: Headers = { 'x-content-type-options': 'nosniff' };

/** Headers of Go's `http.Error`. */
export const LINE_HEADERS: Headers = { ...PLAIN_TEXT, ...NO_SNIFFING };

/** An error response: the status and the text that the client sees. */
export class HttpError extends Error {
  override readonly name = 'HttpError';
  readonly status: number;
  /** All headers of the response. */
  readonly headers: Headers;

  constructor(status: number, message: string, options: ErrorOptions & { readonly headers?: Headers } = {}) {
    super(message, options);
    this.status = status;
    this.headers = options.headers ?? PLAIN_TEXT;
  }
}

export function plainText(status: number, body: string, headers: Headers = {}): ServerResponse {
  return { status, headers: { ...PLAIN_TEXT, ...headers }, body };
}

/** The response of Go's `http.Error`. */
export function errorLine(status: number, text: string): ServerResponse {
  return { status, headers: LINE_HEADERS, body: `${text}\n` };
}

export function json(value: unknown, headers: Headers = {}): ServerResponse {
  return { status: 200, headers: { 'content-type': 'application/json', ...headers }, body: JSON.stringify(value) };
}

/** JSON with a final line feed, as Kubernetes writes its objects. */
export function jsonLine(value: unknown): ServerResponse {
  const answer = json(value);
  return { ...answer, body: `${answer.body}\n` };
}

/** Go's redirect; only GET and HEAD get a body. */
export function redirectTo(location: string, method: string): ServerResponse {
  const headers = { location: location };
  if (method !== 'GET' && method !== 'HEAD') return { status: 307, headers, body: '' };
  const href = location.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&#34;');
  const body = `<a href="${href}">Temporary Redirect</a>.\n\n`;
  return { status: 307, headers: { ...headers, 'content-type': 'text/html; charset=utf-8' }, body };
}
