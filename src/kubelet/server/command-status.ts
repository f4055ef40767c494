/**
 * The outcome of a command on the error channel of a client, from the runtime's on its error stream. Both are a Kubernetes
 * `Status`; kubelet decodes it and writes it anew, with its own messages.
 */
export function commandStatus(text: string): string {
  const status = parseStatus(text);
  if (typeof status === 'string') return internalErrorStatus(status);
  if (status.status === 'Success') return SUCCESS;
  if (status.status !== 'Failure') return internalErrorStatus('error stream protocol error: unknown error');
  if (status.reason !== 'NonZeroExitCode') return internalErrorStatus(status.message ?? '');
  return exitCodeStatus(status);
}

const SUCCESS = JSON.stringify({ metadata: {}, status: 'Success' });
const MAX_EXIT_CODE = 255;

/** The runtime could not be asked, or did not answer as it should. */
export function internalErrorStatus(message: string): string {
  return JSON.stringify({
    metadata: {},
    status: 'Failure',
    message: `Internal error occurred: ${message}`,
    reason: 'InternalError',
    details: { causes: [{ message }] },
    code: 500,
  });
}

interface RuntimeStatus {
  readonly status?: unknown;
  readonly reason?: unknown;
  readonly message?: string | undefined;
  readonly causes: readonly Cause[] | undefined;
}

interface Cause {
  readonly reason?: unknown;
  readonly message?: unknown;
}

function exitCodeStatus({ causes }: RuntimeStatus): string {
  const prefix = 'error stream protocol error:';
  if (!causes) return internalErrorStatus(`${prefix} details must be set`);
  const cause = causes.find(({ reason }) => reason === 'ExitCode');
  if (!cause) return internalErrorStatus(`${prefix} no ExitCode cause given`);
  const code = String(cause.message ?? '');
  if (!/^\d{1,3}$/.test(code) || Number(code) > MAX_EXIT_CODE) {
    return internalErrorStatus(`${prefix} invalid exit code value ${JSON.stringify(code)}`);
  }
  const exit = String(Number(code));
  return JSON.stringify({
    metadata: {},
    status: 'Failure',
    message: `command terminated with non-zero exit code: command terminated with exit code ${exit}`,
    reason: 'NonZeroExitCode',
    details: { causes: [{ reason: 'ExitCode', message: exit }] },
  });
}

/** Returns an error for a text that is no status. */
function parseStatus(text: string): RuntimeStatus | string {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value !== 'object' || value === null) throw new SyntaxError('not an object');
    const { status, reason, message, details } = { ...value } as Readonly<Record<string, unknown>>;
    return { status, reason, message: typeof message === 'string' ? message : undefined, causes: parseCauses(details) };
  } catch {
    return `error stream protocol error: invalid status in ${JSON.stringify(text)}`;
  }
}

/** `undefined` without details. */
function parseCauses(details: unknown): readonly Cause[] | undefined {
  if (typeof details !== 'object' || details === null) return undefined;
  const causes = 'causes' in details && Array.isArray(details.causes) ? details.causes : [];
  return causes.filter((cause: unknown): cause is Cause => typeof cause === 'object' && cause !== null);
}
