import { ExpectedError } from '../../base/expected-error.ts';

/** Error codes of the local API with their HTTP status. */
const STATUS = { BadRequest: 400, NotFound: 404, Conflict: 409, Internal: 500, Unavailable: 503 } as const;

export type ApiErrorCode = keyof typeof STATUS;

/** An error response; `message` is for the user. */
export class ApiError extends ExpectedError {
  override readonly name = 'ApiError';
  readonly code: ApiErrorCode;

  constructor(code: ApiErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }

  get status(): number {
    return STATUS[this.code];
  }
}

export function isApiErrorCode(code: unknown): code is ApiErrorCode {
  return typeof code === 'string' && Object.hasOwn(STATUS, code);
}
