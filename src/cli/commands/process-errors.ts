import { isBrokenInvariant } from '../../base/invariant-error.ts';

/** Node's events of errors that no code has handled; the names are those of the process object. */
export type ProcessErrorKind = 'uncaughtException' | 'unhandledRejection';

export interface ProcessErrors {
  /**
   * From now on such errors do not end the process, except a broken invariant: `report` gets them, and must not throw. Returns
   * the function that undoes it.
   */
  survive(report: (kind: ProcessErrorKind, error: unknown) => void): () => void;
  /** Prints the error with its stack and ends the process. */
  endAfterBug(error: unknown): void;
}

export interface ErrorEvents {
  on(event: ProcessErrorKind, listener: (error: unknown) => void): unknown;
}

/**
 * Handles the errors that no code has handled. Until a command survives them, each of them ends the process: a start that
 * lost a callback would hang, and a short command has nothing to keep running.
 */
export function handleProcessErrors(events: ErrorEvents, endAfterBug: (error: unknown) => void): ProcessErrors {
  let survivor: ((kind: ProcessErrorKind, error: unknown) => void) | undefined;
  const handle = (kind: ProcessErrorKind, error: unknown): void => {
    if (survivor === undefined || isBrokenInvariant(error)) endAfterBug(error);
    else survivor(kind, error);
  };
  events.on('uncaughtException', (error) => handle('uncaughtException', error));
  events.on('unhandledRejection', (error) => handle('unhandledRejection', error));
  return {
    survive(report) {
      survivor = report;
      return () => {
        survivor = undefined;
      };
    },
    endAfterBug,
  };
}
