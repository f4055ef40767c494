import { collectText } from '../../base/byte-chunks.ts';
import type { Clock } from '../../host/clock.ts';
import { type HttpResponse, NetworkError } from '../../host/network.ts';
import { type ApiRequest, apiCallChannel } from './api-call-channel.ts';
import { ApiError } from './api-server.ts';
import { errorFromResponse } from './api-status.ts';
import { CredentialError } from './exec-credential.ts';
import type { RequestRateLimiter } from './request-rate.ts';
import type { ServerConnections, ServerRequestLine, ServerResponse } from './server-connections.ts';
import { traceHeader, traceRequest } from './trace-request.ts';

/** As client-go. */
const MAX_ATTEMPTS = 10;
/** Longer delays are left to the callers, which may have other work. */
const LONGEST_PAUSE_MS = 2_000;

export interface HttpCallDeps {
  readonly connections: ServerConnections;
  readonly rate: RequestRateLimiter;
  readonly clock: Clock;
  readonly userAgent: string;
  /** As shown in errors. */
  readonly server: string;
}

export interface ApiCall extends Pick<ServerRequestLine, 'method' | 'path' | 'isRepeatable'> {
  /** Sent as JSON. */
  readonly body?: unknown;
  readonly contentType?: string;
}

type Answer =
  | { readonly kind: 'value'; readonly value: unknown }
  | { readonly kind: 'error'; readonly error: ApiError; readonly status: number };

/** Requests with JSON bodies and `ApiError`s. */
export class HttpCalls {
  readonly #deps: HttpCallDeps;
  readonly #host: string;

  constructor(deps: HttpCallDeps) {
    this.#deps = deps;
    this.#host = new URL(deps.server).host;
  }

  /** Returns the whole response. Waits and retries if the server asks for a short delay. */
  async call(call: ApiCall, signal: AbortSignal): Promise<unknown> {
    const { rate, clock } = this.#deps;
    for (let attempt = 1; ; attempt++) {
      const of = this.#requestOf(call);
      const askedMs = clock.monotonic();
      await rate.wait(signal);
      apiCallChannel.publish({ kind: 'throttled', of, tookMs: clock.monotonic() - askedMs });
      const answer = await this.#request(call, signal);
      if (answer.kind === 'value') return answer.value;
      const { error, status } = answer;
      const { retryAfterMs = Number.POSITIVE_INFINITY } = error;
      if (attempt === MAX_ATTEMPTS || retryAfterMs > LONGEST_PAUSE_MS) throw error;
      apiCallChannel.publish({ kind: 'retried', of, status });
      await clock.sleep(retryAfterMs, signal);
    }
  }

  /** Returns a response that the caller reads as a stream and disposes. */
  async open(call: ApiCall, signal: AbortSignal): Promise<ServerResponse> {
    const answer = await this.#mapErrors(this.#send(call, this.#requestLine(call), signal), signal);
    if (answer.response.status === 200) return answer;
    using failed = answer;
    throw await this.#mapErrors(responseError(failed.response), signal);
  }

  /** The error of reading a response whose connection broke. */
  readError(error: unknown, signal: AbortSignal): unknown {
    if (signal.aborted) return signal.reason;
    if (error instanceof NetworkError || error instanceof CredentialError) {
      return new ApiError('Unavailable', `cannot reach ${this.#deps.server}: ${error.message}`, { cause: error });
    }
    return error;
  }

  async #request(call: ApiCall, signal: AbortSignal): Promise<Answer> {
    const line = this.#requestLine(call);
    const beganMs = this.#deps.clock.monotonic();
    let responseBytes: number | undefined;
    try {
      using answer = await this.#mapErrors(this.#send(call, line, signal), signal);
      const { response } = answer;
      const text = await this.#mapErrors(collectText(response.body), signal);
      responseBytes = Buffer.byteLength(text);
      const { status, headers } = response;
      return status < 200 || status > 299
        ? { kind: 'error', error: errorFromResponse(status, headers, text), status }
        : { kind: 'value', value: parseJson(text) };
    } finally {
      const tookMs = this.#deps.clock.monotonic() - beganMs;
      const requestBytes = Buffer.byteLength(line.body ?? '');
      apiCallChannel.publish({ kind: 'ended', of: this.#requestOf(call), tookMs, requestBytes, responseBytes });
    }
  }

  async #send(call: ApiCall, line: ServerRequestLine, signal: AbortSignal): Promise<ServerResponse> {
    const { connections, server } = this.#deps;
    const of = this.#requestOf(call);
    try {
      const answer = await traceRequest(call, server, () => connections.request(line, signal));
      apiCallChannel.publish({ kind: 'answered', of, status: answer.response.status });
      return answer;
    } catch (error) {
      apiCallChannel.publish({ kind: 'answered', of, status: undefined });
      throw error;
    }
  }

  #requestOf({ method }: ApiCall): ApiRequest {
    return { method, host: this.#host };
  }

  async #mapErrors<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
    try {
      return await work;
    } catch (error) {
      throw this.readError(error, signal);
    }
  }

  #requestLine({ method, path, body, contentType = 'application/json', isRepeatable }: ApiCall): ServerRequestLine {
    const text = body === undefined ? undefined : JSON.stringify(body);
    return {
      method,
      path,
      headers: [
        ['Accept', 'application/json'],
        ['User-Agent', this.#deps.userAgent],
        ...traceHeader(),
        ...(text === undefined ? [] : [['Content-Type', contentType] as const]),
      ],
      ...(text !== undefined && { body: text }),
      ...(isRepeatable !== undefined && { isRepeatable }),
    };
  }
}

async function responseError({ status, headers, body }: HttpResponse): Promise<ApiError> {
  return errorFromResponse(status, headers, await collectText(body));
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    // Without the cause, which quotes the response.
    throw new ApiError('InternalError', 'the response is not JSON');
  }
}
