import type { ServerResponse } from '../../host/network.ts';

/** An answer that is a refusal: the status and the text that the client sees. */
export class HttpProblem extends Error {
  override readonly name = 'HttpProblem';
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;

  constructor(
    status: number,
    message: string,
    options: ErrorOptions & { readonly headers?: Readonly<Record<string, string>> } = {},
  ) {
    super(message, options);
    this.status = status;
    this.headers = options.headers ?? {};
  }
}

export function plainText(status: number, body: string): ServerResponse {
  return { status, headers: { 'content-type': 'text/plain; charset=utf-8' }, body };
}

export function json(value: unknown): ServerResponse {
  return { status: 200, headers: { 'content-type': 'application/json' }, body: JSON.stringify(value) };
}
