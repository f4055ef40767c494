import { CHANNEL } from '../../streams/command-channels.ts';

/**
 * The protocol of exec. A WebSocket message is one byte for the channel, then its data; v5 adds a message that closes a
 * channel, without which standard input cannot end. Over SPDY, where v5 is not needed, each channel is a stream.
 */
export const EXEC_PROTOCOL = { v4: 'v4.channel.k8s.io', v5: 'v5.channel.k8s.io' } as const;

/** A message of the runtime. */
export type ExecMessage =
  | { readonly kind: 'stdout' | 'stderr'; readonly data: Uint8Array }
  | { readonly kind: 'end'; readonly end: ExecEnd }
  /** An unknown channel, or no data: servers open every channel with an empty message. */
  | { readonly kind: 'nothing' };

/** How a command ended: with an exit code, or with an error. */
export type ExecEnd = { readonly exitCode: number } | { readonly failure: string };

/** The connection ended before the command's status arrived. */
export const CONNECTION_LOST: ExecEnd = { failure: 'the connection to the container was lost' };

export function decodeExecMessage(message: Uint8Array): ExecMessage {
  const [channel] = message;
  const data = message.subarray(1);
  if (data.length === 0) return { kind: 'nothing' };
  if (channel === CHANNEL.stdout) return { kind: 'stdout', data };
  if (channel === CHANNEL.stderr) return { kind: 'stderr', data };
  if (channel === CHANNEL.error) return { kind: 'end', end: decodeExecEnd(Buffer.from(data).toString('utf8')) };
  return { kind: 'nothing' };
}

export function encodeStdin(data: Uint8Array): Uint8Array {
  return Buffer.concat([Uint8Array.of(CHANNEL.stdin), data]);
}

/** Only in v5. */
export function encodeEndOfStdin(): Uint8Array {
  return Uint8Array.of(CHANNEL.end, CHANNEL.stdin);
}

export function encodeResize(size: WindowSize): Uint8Array {
  return Buffer.concat([Uint8Array.of(CHANNEL.resize), encodeSize(size)]);
}

export interface WindowSize {
  readonly columns: number;
  readonly rows: number;
}

/** The size as the resize channel or stream carries it. */
export function encodeSize({ columns, rows }: WindowSize): Uint8Array {
  return Buffer.from(JSON.stringify({ Width: columns, Height: rows }));
}

/** A `Status` of the Kubernetes API; the exit code is the cause `ExitCode` of the reason `NonZeroExitCode`. */
export function decodeExecEnd(text: string): ExecEnd {
  const status = parseObject(text);
  if (status?.['status'] === 'Success') return { exitCode: 0 };
  const causes = parseCauses(status?.['details']);
  const code = causes.find(({ reason }) => reason === 'ExitCode')?.message;
  if (status?.['reason'] === 'NonZeroExitCode' && typeof code === 'string' && /^\d{1,9}$/.test(code)) {
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
    return undefined; // older servers send plain text, which is shown unchanged
  }
}
