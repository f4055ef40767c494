import { parseTime, TimeError } from '../../../base/rfc3339.ts';
import { NetworkError } from '../../../host/network.ts';

/** A registry's response that cannot be used. */
export class RegistryError extends Error {
  override readonly name = 'RegistryError';
  /** 0: the response does not match the request. */
  readonly status: number;
  /** The registry's Retry-After. */
  readonly retryAfterMs: number | undefined;

  constructor(status: number, message: string, retryAfterMs?: number) {
    super(message);
    this.status = status;
    this.retryAfterMs = retryAfterMs;
  }
}

/** No data was received for so long that the host is not retried. */
export class IdleTimeoutError extends NetworkError {
  constructor(message: string, options?: ErrorOptions) {
    super('ETIMEDOUT', message, options);
  }
}

/** The host sent less than the minimum rate and is not retried. */
export class SlowTransferError extends NetworkError {
  constructor(message: string, options?: ErrorOptions) {
    super('ETIMEDOUT', message, options);
  }
}

/** Whether a retry may succeed. */
export function isTransient(error: unknown): boolean {
  if (error instanceof RegistryError) return error.status === 408 || error.status === 429 || error.status >= 500;
  // Codes of certificate errors have underscores.
  return error instanceof NetworkError && /^(E[A-Z]+|EAI_AGAIN)$/.test(error.code) && error.code !== 'ENOTFOUND';
}

/** The host did not respond. */
export function isUnreachable(error: unknown): boolean {
  return error instanceof NetworkError;
}

const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];

/** Parses seconds or a date (RFC 9110, section 10.2.3); `undefined` if it is neither. */
export function parseRetryAfterMs(header: string | undefined, now: number): number | undefined {
  if (header === undefined) return undefined;
  if (/^\d{1,9}$/.test(header)) return Number(header) * 1000;
  const [, day = '', month = '', year = '', time = ''] =
    /^[A-Za-z]{3}, (\d{2}) ([A-Za-z]{3}) (\d{4}) (\d{2}:\d{2}:\d{2}) GMT$/.exec(header) ?? [];
  const at = `${year}-${String(MONTHS.indexOf(month) + 1).padStart(2, '0')}-${day}T${time}Z`;
  try {
    return Math.max(0, parseTime(at) - now);
  } catch (error) {
    if (error instanceof TimeError) return undefined;
    throw error;
  }
}
