import { type CriCode, CriError } from './cri-error.ts';

/** An error about a field of a CRI message. `withFieldPrefix` extends the path of the field. */
class FieldError extends CriError {
  readonly field: string;
  readonly why: string;
  readonly reason: string | undefined;

  constructor(code: CriCode, field: string, why: string, options: FieldErrorOptions = {}) {
    const { reason, cause } = options;
    super(code, `${reason === undefined ? '' : `${reason}: `}${field}: ${why}`, { cause });
    this.field = field;
    this.why = why;
    this.reason = reason;
  }
}

export interface FieldErrorOptions extends ErrorOptions {
  /** A reason of CRI, by which clients recognize the error: the message starts with it. */
  readonly reason?: string | undefined;
}

/**
 * The error of an invalid field. `field` is its path in the protocol, relative to the part of the message that is being
 * validated.
 */
export function invalidField(field: string, why: string, options?: FieldErrorOptions): CriError {
  return new FieldError('InvalidArgument', field, why, options);
}

/** The error of a valid field whose request cannot be fulfilled in the current state. */
export function failedPrecondition(field: string, why: string): CriError {
  return new FieldError('FailedPrecondition', field, why);
}

/** Prefixes the field path of errors that `work` throws with `field`. Other errors are not changed. */
export async function withFieldPrefix<T>(field: string, work: () => T | Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof FieldError)) throw error;
    const { code, why, reason, cause } = error;
    throw new FieldError(code, `${field}.${error.field}`, why, { reason, cause });
  }
}
