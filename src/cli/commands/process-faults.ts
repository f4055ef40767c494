import { Faults } from '../../base/faults.ts';
import type { Log } from '../../base/log.ts';
import type { CommandContext } from './command-context.ts';

/** The faults of a command that keeps running: a broken invariant ends the process. */
export function processFaults({ host, unhandledErrors }: CommandContext, log: Log): Faults {
  return new Faults({
    clock: host.clock,
    log,
    onBrokenInvariant: (error) => unhandledErrors.endAfterBug(error),
  });
}

/** From now on errors that no code has handled are faults, and do not end the process. Returns the function that undoes it. */
export function surviveErrors({ unhandledErrors }: CommandContext, faults: Faults): () => void {
  return unhandledErrors.survive((kind, error) => faults.report(kind, error));
}
