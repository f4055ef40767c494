/**
 * The messages of `v4.channel.k8s.io`, in which exec and attach speak over WebSocket: one byte that names a channel,
 * then its data. Standard input cannot be ended in it, which only v5 can.
 */
export const EXEC_PROTOCOL = 'v4.channel.k8s.io';

const CHANNEL = { stdin: 0, stdout: 1, stderr: 2, error: 3, resize: 4 } as const;

/** What the runtime sends. */
export type ExecMessage =
  | { readonly kind: 'stdout' | 'stderr'; readonly data: Uint8Array }
  | { readonly kind: 'end'; readonly end: ExecEnd }
  /** On a channel that we do not know, or without data: servers open every channel with an empty message. */
  | { readonly kind: 'nothing' };

/** How a command ended: with an exit code, or not at all. */
export type ExecEnd = { readonly exitCode: number } | { readonly failure: string };

export function decodeExecMessage(message: Uint8Array): ExecMessage {
  const [channel] = message;
  const data = message.subarray(1);
  if (data.length === 0) return { kind: 'nothing' };
  if (channel === CHANNEL.stdout) return { kind: 'stdout', data };
  if (channel === CHANNEL.stderr) return { kind: 'stderr', data };
  if (channel === CHANNEL.error) return { kind: 'end', end: decodeEnd(Buffer.from(data).toString('utf8')) };
  return { kind: 'nothing' };
}

export function encodeStdin(data: Uint8Array): Uint8Array {
  return Buffer.concat([Uint8Array.of(CHANNEL.stdin), data]);
}

export function encodeResize({ columns, rows }: { readonly columns: number; readonly rows: number }): Uint8Array {
  const size = JSON.stringify({ Width: columns, Height: rows });
  return Buffer.concat([Uint8Array.of(CHANNEL.resize), Buffer.from(size)]);
}

/** A `Status` of the Kubernetes API; the exit code is the cause `ExitCode` of the reason `NonZeroExitCode`. */
function decodeEnd(text: string): ExecEnd {
  const status = parseObject(text);
  if (status?.['status'] === 'Success') return { exitCode: 0 };
  const causes = parseCauses(status?.['details']);
  const code = causes.find(({ reason }) => reason === 'ExitCode')?.message;
  if (status?.['reason'] === 'NonZeroExitCode' && typeof code === 'string' && /^\d+$/.test(code)) {
    return { exitCode: Number(code) };
  }
  const message = status?.['message'];
  return { failure: typeof message === 'string' ? message : text };
}

function parseCauses(details: unknown): ReadonlyArray<{ readonly reason?: unknown; readonly message?: unknown }> {
  const causes = typeof details === 'object' && details !== null && 'causes' in details ? details.causes : [];
  return Array.isArray(causes) ? causes.filter((cause: unknown) => typeof cause === 'object' && cause !== null) : [];
}

function parseObject(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? { ...value } : undefined;
  } catch {
    return undefined; // older servers send plain text, which is shown as it is
  }
}
