/**
 * The messages of `v4.channel.k8s.io` and `v5.channel.k8s.io`, from the server's side: one byte that names a channel, then
 * its data. With v5 a client can end a channel, by a message of channel 255 that names it.
 */
export const EXEC_PROTOCOLS = ['v5.channel.k8s.io', 'v4.channel.k8s.io'] as const;

const CHANNEL = { stdin: 0, stdout: 1, stderr: 2, error: 3, resize: 4 } as const;
const CLOSE = 255;

/** What a client says. */
export type ExecInput =
  | { readonly kind: 'stdin'; readonly data: Uint8Array }
  | { readonly kind: 'endOfStdin' }
  | { readonly kind: 'resize'; readonly width: number; readonly height: number }
  /** On a channel that is not the client's, or not readable. */
  | { readonly kind: 'nothing' };

export function decodeExecInput(message: Uint8Array): ExecInput {
  const [channel] = message;
  const data = message.subarray(1);
  if (channel === CHANNEL.stdin && data.length > 0) return { kind: 'stdin', data };
  if (channel === CLOSE && data[0] === CHANNEL.stdin) return { kind: 'endOfStdin' };
  if (channel === CHANNEL.resize) return decodeResize(Buffer.from(data).toString('utf8'));
  return { kind: 'nothing' };
}

function decodeResize(text: string): ExecInput {
  try {
    const size: unknown = JSON.parse(text);
    if (typeof size !== 'object' || size === null) return { kind: 'nothing' };
    const [width, height] = [sideOf(size, 'Width'), sideOf(size, 'Height')];
    return width && height ? { kind: 'resize', width, height } : { kind: 'nothing' };
  } catch {
    return { kind: 'nothing' };
  }
}

function sideOf(size: object, name: 'Width' | 'Height'): number | undefined {
  const value: unknown = Object.getOwnPropertyDescriptor(size, name)?.value;
  return typeof value === 'number' && Number.isInteger(value) && value > 0 && value < 65_536 ? value : undefined;
}

export function encodeOutput(channel: 'stdout' | 'stderr' | 'error', data: Uint8Array): Uint8Array {
  return Buffer.concat([Uint8Array.of(CHANNEL[channel]), data]);
}

/** How it ended: a `Status` of the Kubernetes API on the channel for errors. */
export type ExecOutcome =
  | { readonly kind: 'exited'; readonly exitCode: number; readonly command: readonly string[] }
  | { readonly kind: 'failed'; readonly message: string };

export function encodeOutcome(outcome: ExecOutcome): Uint8Array {
  return encodeOutput('error', Buffer.from(JSON.stringify({ metadata: {}, ...statusOf(outcome) })));
}

function statusOf(outcome: ExecOutcome): object {
  if (outcome.kind === 'failed') {
    const message = `error executing command in container: ${outcome.message}`;
    return {
      status: 'Failure',
      message: `Internal error occurred: ${message}`,
      reason: 'InternalError',
      details: { causes: [{ message }] },
      code: 500,
    };
  }
  const { exitCode, command } = outcome;
  if (exitCode === 0) return { status: 'Success' };
  const what = `error executing command [${command.join(' ')}], exit code ${exitCode}`;
  return {
    status: 'Failure',
    message: `command terminated with non-zero exit code: ${what}`,
    reason: 'NonZeroExitCode',
    details: { causes: [{ reason: 'ExitCode', message: String(exitCode) }] },
  };
}
