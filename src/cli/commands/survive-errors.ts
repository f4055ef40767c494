import type { Log } from '../../base/log.ts';
import { UnhandledErrors } from '../../base/unhandled-errors.ts';
import type { CommandContext } from './command-context.ts';

/** The unhandled errors of a command that keeps running: a broken invariant ends the process. */
export function createUnhandledErrors({ host, processErrors }: CommandContext, log: Log): UnhandledErrors {
  return new UnhandledErrors({
    clock: host.clock,
    log,
    onBrokenInvariant: (error) => processErrors.endAfterBug(error),
  });
}

/** From now on errors that no code has handled are reported there, and do not end the process. Returns the function that undoes it. */
export function surviveErrors({ processErrors }: CommandContext, unhandled: UnhandledErrors): () => void {
  return processErrors.survive((kind, error) => unhandled.report(kind, error));
}
