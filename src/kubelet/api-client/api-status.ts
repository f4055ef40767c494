import { ApiError, type ApiErrorReason } from './api-server.ts';
import { isMap } from './patch-value.ts';

/** What the server's own reasons are to us, where they are not the same. */
const REASONS: Readonly<Record<string, ApiErrorReason>> = {
  NotFound: 'NotFound',
  AlreadyExists: 'AlreadyExists',
  Conflict: 'Conflict',
  Invalid: 'Invalid',
  BadRequest: 'BadRequest',
  Forbidden: 'Forbidden',
  Unauthorized: 'Unauthorized',
  Expired: 'Expired',
  Gone: 'Expired',
  TooManyRequests: 'TooManyRequests',
  InternalError: 'InternalError',
  // It has not done what it was asked for, and may do so later.
  ServiceUnavailable: 'Unavailable',
  ServerTimeout: 'Unavailable',
  Timeout: 'Unavailable',
};

const REASONS_BY_CODE: Readonly<Record<number, ApiErrorReason>> = {
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'NotFound',
  409: 'Conflict',
  410: 'Expired',
  422: 'Invalid',
  429: 'TooManyRequests',
};

/** Of an answer that is not the object that was asked for. `body` is not shown unless it is a `Status`. */
export function errorFromResponse(status: number, headers: Readonly<Record<string, string>>, body: string): ApiError {
  const asked = Number.parseInt(headers['retry-after'] ?? '', 10);
  const retryAfterMs = Number.isNaN(asked) ? undefined : asked * 1000;
  return errorFromStatus(parseJson(body), status, retryAfterMs);
}

/** Of a `Status` object, or of whatever stands in its place. */
export function errorFromStatus(value: unknown, code = 0, retryAfterMs?: number): ApiError {
  const status = isMap(value) && value['kind'] === 'Status' ? value : {};
  const { reason, message, details } = status;
  const known = typeof reason === 'string' ? REASONS[reason] : undefined;
  const seconds = isMap(details) ? details['retryAfterSeconds'] : undefined;
  const pause = retryAfterMs ?? (typeof seconds === 'number' && seconds > 0 ? seconds * 1000 : undefined);
  return new ApiError(
    known ?? reasonForCode(typeof status['code'] === 'number' ? status['code'] : code),
    typeof message === 'string' && message !== '' ? message : `the server answered with status ${code}`,
    pause === undefined ? {} : { retryAfterMs: pause },
  );
}

function reasonForCode(code: number): ApiErrorReason {
  const known = REASONS_BY_CODE[code];
  if (known !== undefined) return known;
  if (code === 502 || code === 503 || code === 504) return 'Unavailable';
  return code >= 400 && code < 500 ? 'BadRequest' : 'InternalError';
}

function parseJson(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}
