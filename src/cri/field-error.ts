import { type CriCode, CriError } from './cri-error.ts';

/** An error about a field of a CRI message. `withFieldPrefix` extends the path of the field. */
class FieldError extends CriError {
  readonly field: string;
  readonly why: string;

  constructor(code: CriCode, field: string, why: string, options?: ErrorOptions) {
    super(code, `${field}: ${why}`, options);
    this.field = field;
    this.why = why;
  }
}

/**
 * The error of an invalid field. `field` is its path in the protocol, relative to the part of the message that is being
 * validated.
 */
export function invalidField(field: string, why: string, options?: ErrorOptions): CriError {
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
    throw new FieldError(error.code, `${field}.${error.field}`, error.why, { cause: error.cause });
  }
}
