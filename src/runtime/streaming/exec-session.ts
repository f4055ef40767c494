import { textOf } from '../../base/text-of.ts';
import type { Clock } from '../../host/clock.ts';
import type { WebSocketConnection } from '../../host/network.ts';
import type { ExecStreams } from '../oci/oci-runtime.ts';
import { decodeExecInput, type ExecOutcome, encodeOutcome, encodeOutput } from './exec-channels.ts';
import { lastWordsOver } from './last-words.ts';

export interface ExecSessionOptions {
  readonly command: readonly string[];
  readonly stdin: boolean;
  readonly stdout: boolean;
  readonly stderr: boolean;
}

/**
 * Carries one exec between its client and its process.
 * 1. The client hears of the end after all output.
 * 2. A client that goes takes the process with it: nobody could end it any more.
 */
export async function serveExec(
  connection: WebSocketConnection,
  options: ExecSessionOptions,
  start: (signal: AbortSignal) => Promise<ExecStreams>,
  clock: Pick<Clock, 'sleep'>,
): Promise<void> {
  const [gone, over] = [new AbortController(), new AbortController()];
  try {
    // Clients take the first message for the sign that they are connected.
    await connection.send(encodeOutput(firstChannel(options), new Uint8Array()));
    const left = lastWordsOver(connection, clock, over.signal);
    const outcome = await runExec(connection, options, () => start(gone.signal), left);
    await connection.send(encodeOutcome(outcome));
  } catch (error) {
    gone.abort(error);
  } finally {
    over.abort();
    connection.close();
  }
}

function firstChannel({ stdout, stderr }: ExecSessionOptions): 'stdout' | 'stderr' | 'error' {
  if (stdout) return 'stdout';
  return stderr ? 'stderr' : 'error';
}

/** Rejects when the client is gone. */
async function runExec(
  connection: WebSocketConnection,
  options: ExecSessionOptions,
  start: () => Promise<ExecStreams>,
  left: Promise<void>,
): Promise<ExecOutcome> {
  let streams: ExecStreams;
  try {
    streams = await start();
  } catch (error) {
    return { kind: 'failed', message: textOf(error) };
  }
  if (!options.stdin) streams.closeInput();
  try {
    const output = Promise.all([
      forward(streams.stdout, options.stdout ? (data) => connection.send(encodeOutput('stdout', data)) : discard),
      forward(streams.stderr, options.stderr ? (data) => connection.send(encodeOutput('stderr', data)) : discard),
    ]);
    const exited = output.then(() => streams.exited);
    const said = obey(connection, streams, options);
    const exitCode = await Promise.race([exited, Promise.race([said, left]).then(clientIsGone)]);
    return { kind: 'exited', exitCode, command: options.command };
  } catch (error) {
    await streams.kill();
    throw error;
  }
}

async function forward(chunks: AsyncIterable<Uint8Array>, take: (chunk: Uint8Array) => Promise<void>): Promise<void> {
  for await (const chunk of chunks) await take(chunk);
}

async function discard(): Promise<void> {}

/** Does what the client says, until that says nothing any more. */
async function obey(
  connection: WebSocketConnection,
  streams: ExecStreams,
  { stdin }: ExecSessionOptions,
): Promise<void> {
  for await (const message of connection.messages) {
    const input = decodeExecInput(message);
    if (input.kind === 'stdin' && stdin) await streams.write(input.data);
    else if (input.kind === 'endOfStdin' && stdin) streams.closeInput();
    else if (input.kind === 'resize') await streams.resize(input).catch(() => {}); // the window is not worth the session
  }
}

function clientIsGone(): never {
  throw new Error('the client is gone');
}
