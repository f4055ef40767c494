import { type CriCode, CriError } from './cri-error.ts';

/** A refusal that begins with a path in the CRI message, which whoever knows more of the message can make longer. */
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
 * The caller asked for what cannot be: `field` is the path in the CRI message, as the protocol spells it, from the part on
 * that is looked at.
 */
export function invalidField(field: string, why: string, options?: ErrorOptions): CriError {
  return new FieldError('InvalidArgument', field, why, options);
}

/** The caller asked for what is not so at the moment. */
export function failedPrecondition(field: string, why: string): CriError {
  return new FieldError('FailedPrecondition', field, why);
}

/** For errors about a part of a message: names it as a part of `field`. Others stay as they are. */
export async function withFieldPrefix<T>(field: string, work: () => T | Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof FieldError)) throw error;
    throw new FieldError(error.code, `${field}.${error.field}`, error.why, { cause: error.cause });
  }
}
