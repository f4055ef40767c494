/** Outcome of exec or attach. */
export type CommandOutcome =
  | { readonly kind: 'exited'; readonly exitCode: number; readonly command: readonly string[] }
  /** Attach ended: the container exited with any exit code, or keeps running without the client. */
  | { readonly kind: 'detached' }
  | { readonly kind: 'failed'; readonly message: string };

interface Status {
  readonly status: 'Success' | 'Failure';
  readonly message?: string;
  readonly reason?: string;
  readonly details?: { readonly causes: ReadonlyArray<{ readonly reason?: string; readonly message: string }> };
  readonly code?: number;
}

/** Text for the error stream: a Kubernetes `Status`, or for old protocols the error message, empty on success. */
export function outcomeText(outcome: CommandOutcome, form: 'status' | 'text'): string {
  const status = toStatus(outcome);
  return form === 'status' ? JSON.stringify({ metadata: {}, ...status }) : (status.message ?? '');
}

function toStatus(outcome: CommandOutcome): Status {
  if (outcome.kind === 'failed') {
    const { message } = outcome;
    return {
      status: 'Failure',
      message: `Internal error occurred: ${message}`,
      reason: 'InternalError',
      details: { causes: [{ message }] },
      code: 500,
    };
  }
  if (outcome.kind === 'detached' || outcome.exitCode === 0) return { status: 'Success' };
  const { exitCode, command } = outcome;
  const what = `error executing command [${command.join(' ')}], exit code ${exitCode}`;
  return {
    status: 'Failure',
    message: `command terminated with non-zero exit code: ${what}`,
    reason: 'NonZeroExitCode',
    details: { causes: [{ reason: 'ExitCode', message: String(exitCode) }] },
  };
}
