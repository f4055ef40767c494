import type { ServerResponse } from '../../host/network.ts';

type Headers = Readonly<Record<string, string>>;

export const PLAIN_TEXT: Headers = { 'content-type': 'text/plain; charset=utf-8' };
/** What it says it is, whatever it looks like. */
export const NO_SNIFFING: Headers = { 'x-content-type-options': 'nosniff' };

/** Of a line that Go's own server would have written, about what is wrong. */
export const LINE_HEADERS: Headers = { ...PLAIN_TEXT, ...NO_SNIFFING };

/** An answer that is a refusal: the status and the text that the client sees. */
export class HttpProblem extends Error {
  override readonly name = 'HttpProblem';
  readonly status: number;
  /** All of them. */
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

/** What Go's own server would write, about what is wrong. */
export function plainLine(status: number, text: string): ServerResponse {
  return { status, headers: LINE_HEADERS, body: `${text}\n` };
}

export function json(value: unknown, headers: Headers = {}): ServerResponse {
  return { status: 200, headers: { 'content-type': 'application/json', ...headers }, body: JSON.stringify(value) };
}

/** With an end of the line, as Kubernetes writes its objects. */
export function jsonLine(value: unknown): ServerResponse {
  const answer = json(value);
  return { ...answer, body: `${answer.body}\n` };
}

/** Where what was asked for is: the text for a reader is there only where one asks. */
export function movedTo(place: string, method: string): ServerResponse {
  const headers = { location: place };
  if (method !== 'GET' && method !== 'HEAD') return { status: 307, headers, body: '' };
  const href = place.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&#34;');
  const body = `<a href="${href}">Temporary Redirect</a>.\n\n`;
  return { status: 307, headers: { ...headers, 'content-type': 'text/html; charset=utf-8' }, body };
}
