import { ApiError, type ApiErrorReason } from './api-server.ts';
import { isMap } from './patch-value.ts';

/** Maps the server's reasons. */
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
  // The request was not executed and may succeed later.
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

/** The error of a response that is not a success. `body` is shown only if it is a `Status`. */
export function errorFromResponse(status: number, headers: Readonly<Record<string, string>>, body: string): ApiError {
  const asked = Number.parseInt(headers['retry-after'] ?? '', 10);
  const retryAfterMs = Number.isNaN(asked) ? undefined : asked * 1000;
  return errorFromStatus(parseJson(body), status, retryAfterMs);
}

/** The error of a `Status` object, or of another value in its place. */
export function errorFromStatus(value: unknown, code = 0, retryAfterMs?: number): ApiError {
  const status = isMap(value) && value['kind'] === 'Status' ? value : {};
  const { reason, message, details } = status;
  const known = typeof reason === 'string' && Object.hasOwn(REASONS, reason) ? REASONS[reason] : undefined;
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
