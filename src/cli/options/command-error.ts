import { ExpectedError } from '../../base/expected-error.ts';
/** Documented in `nodelet --help`. */
export const EXIT = { ok: 0, failed: 1, badInput: 2, bug: 70 } as const;

/** Ends a command with a message for the user, without a trace. */
export class CommandError extends ExpectedError {
  override readonly name = 'CommandError';
  readonly exitCode: number;

  constructor(message: string, exitCode: number = EXIT.failed, options?: ErrorOptions) {
    super(message, options);
    this.exitCode = exitCode;
  }
}
