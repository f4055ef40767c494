import { ExpectedError } from '../../base/expected-error.ts';

/** The agent or its runtime cannot start on this machine. */
export class StartupError extends ExpectedError {
  override readonly name = 'StartupError';
}
