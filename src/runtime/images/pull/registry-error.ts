import { parseTime, TimeError } from '../../../base/rfc3339.ts';
import { NetworkError } from '../../../host/network.ts';

/** An answer of a registry that is none of those that we can use. */
export class RegistryError extends Error {
  override readonly name = 'RegistryError';
  /** 0: what came is no answer to what was asked. */
  readonly status: number;
  /** How long the registry wants to be left alone. */
  readonly retryAfterMs: number | undefined;

  constructor(status: number, message: string, retryAfterMs?: number) {
    super(message);
    this.status = status;
    this.retryAfterMs = retryAfterMs;
  }
}

/** Nothing has come for so long that nobody is asked again without need. */
export class SilentError extends NetworkError {
  constructor(message: string, options?: ErrorOptions) {
    super('ETIMEDOUT', message, options);
  }
}

/** Whether it may go better the next time. */
export function isPassing(error: unknown): boolean {
  if (error instanceof RegistryError) return error.status === 408 || error.status === 429 || error.status >= 500;
  // Names of certificates' faults have underscores.
  return error instanceof NetworkError && /^(E[A-Z]+|EAI_AGAIN)$/.test(error.code) && error.code !== 'ENOTFOUND';
}

/** Nobody has answered there. */
export function isAway(error: unknown): boolean {
  return error instanceof NetworkError;
}

const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];

/** Seconds, or a date: RFC 9110, section 10.2.3. What is neither counts as nothing said. */
export function retryAfterMs(header: string | undefined, now: number): number | undefined {
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
