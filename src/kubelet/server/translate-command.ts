import { abortable } from '../../base/abortable.ts';
import { aborted } from '../../base/aborted.ts';
import { errorText } from '../../base/error-text.ts';
import type { Clock } from '../../host/clock.ts';
import type { ByteStream, WebSocketConnection } from '../../host/network.ts';
import { CHANNEL } from '../../streams/command-channels.ts';
import { CLOSE_TIMEOUT_MS } from '../../streams/copy-both-ways.ts';
import { openSpdySession } from '../../streams/spdy/open-spdy-session.ts';
import type { SpdySession, SpdyStream } from '../../streams/spdy/spdy-session.ts';
import { commandStatus, internalErrorStatus } from './command-status.ts';
import type { StreamOptions } from './stream-query.ts';

/** A longer outcome of a command is an error of the runtime. */
const MAX_STATUS_BYTES = 256 * 1024;

const EMPTY = new Uint8Array();

export interface TranslationDeps {
  readonly clock: Pick<Clock, 'deadline'>;
  /** Opens the runtime's SPDY connection, with protocol version 4. The signal also closes an established one. */
  readonly connect: (signal: AbortSignal) => Promise<ByteStream>;
}

/**
 * Serves exec or attach to a client that speaks `v5.channel.k8s.io` over a WebSocket, by a runtime that speaks SPDY. The channels
 * of the client are streams there.
 *
 * 1. The client can end its input alone: the runtime's stream for it ends, and output goes on.
 * 2. The outcome is sent after all output. Errors of the runtime are an outcome too.
 * 3. Back-pressure in both directions: nothing is read from one side before the other has taken what was read before.
 *
 * Resolves when the client has everything, or is gone and its input is delivered.
 */
export async function translateCommand(
  client: WebSocketConnection,
  wanted: StreamOptions,
  deps: TranslationDeps,
): Promise<void> {
  const session: Session = { over: new AbortController(), delivered: Promise.withResolvers() };
  void endAfterClient(client, session, deps);
  try {
    // Clients wait for a first message as the sign that they are connected.
    await send(client, firstChannel(wanted), EMPTY);
    const outcome = await relay(client, wanted, deps, session).catch((error: unknown) => {
      session.over.signal.throwIfAborted();
      return internalErrorStatus(errorText(error));
    });
    await send(client, CHANNEL.error, Buffer.from(outcome));
  } catch {
    // The client is gone: nothing can be reported.
  } finally {
    client.close();
  }
}

interface Session {
  /** Aborts when the client is gone and its input is delivered, or could not be in time. */
  readonly over: AbortController;
  /** Resolves when all input of the client is delivered. */
  readonly delivered: PromiseWithResolvers<void>;
}

async function endAfterClient(
  { closed }: WebSocketConnection,
  { over, delivered }: Session,
  { clock }: TranslationDeps,
): Promise<void> {
  await closed;
  await Promise.race([delivered.promise, aborted(clock.deadline(CLOSE_TIMEOUT_MS))]);
  over.abort(new Error('the client is gone'));
}

/** Resolves to the outcome for the client, after all output was sent. */
async function relay(
  client: WebSocketConnection,
  wanted: StreamOptions,
  { clock, connect }: TranslationDeps,
  { over: { signal: over }, delivered }: Session,
): Promise<string> {
  const life = new AbortController();
  const transport = await abortable(connect(life.signal), over).catch((error: unknown) => {
    life.abort(error);
    throw error;
  });
  const session = openSpdySession(transport, 'client');
  try {
    const streams = await openStreams(session, wanted, over);
    void forwardInput(client, streams).then(delivered.resolve);
    const output = Promise.all([
      readStatus(streams.error),
      forwardOutput(client, CHANNEL.stdout, streams.stdout),
      forwardOutput(client, CHANNEL.stderr, streams.stderr),
    ]);
    output.catch(() => undefined); // if the client is gone first
    const [status] = await abortable(output, over);
    return status;
  } finally {
    clock.deadline(CLOSE_TIMEOUT_MS).addEventListener('abort', () => transport.close(), { once: true });
    await session.close();
  }
}

interface RuntimeStreams {
  readonly error: SpdyStream;
  readonly stdin: SpdyStream | undefined;
  readonly stdout: SpdyStream | undefined;
  readonly stderr: SpdyStream | undefined;
  readonly resize: SpdyStream | undefined;
}

/** In the order of other clients. The runtime starts the command when it has all that it expects. */
async function openStreams(session: SpdySession, wanted: StreamOptions, signal: AbortSignal): Promise<RuntimeStreams> {
  const open = (type: string): Promise<SpdyStream> => session.open({ streamtype: [type] }, signal);
  const [error, stdin, stdout, stderr, resize] = await Promise.all([
    open('error'),
    wanted.stdin ? open('stdin') : undefined,
    wanted.stdout ? open('stdout') : undefined,
    wanted.stderr && !wanted.tty ? open('stderr') : undefined,
    wanted.tty ? open('resize') : undefined,
  ]);
  return { error, stdin, stdout, stderr, resize };
}

/** Resolves when the client is gone, and what it has sent is delivered. Never rejects. */
async function forwardInput({ messages }: WebSocketConnection, { stdin, resize }: RuntimeStreams): Promise<void> {
  try {
    for await (const message of messages) {
      const data = message.subarray(1);
      if (message[0] === CHANNEL.stdin) await write(stdin, data);
      else if (message[0] === CHANNEL.resize) await write(resize, data);
      else if (message[0] === CHANNEL.end && data[0] === CHANNEL.stdin) await stdin?.end();
    }
  } catch {
    // The connection has failed: the client is gone.
  }
  await stdin?.end();
}

/** A command that does not read, or has ended, does not end its session: what it does not take is dropped. */
async function write(stream: SpdyStream | undefined, data: Uint8Array): Promise<void> {
  await stream?.write(data).catch(() => undefined);
}

async function forwardOutput(
  client: WebSocketConnection,
  channel: number,
  stream: SpdyStream | undefined,
): Promise<void> {
  if (!stream) return;
  for await (const chunk of stream.chunks) await send(client, channel, chunk);
}

/** Rejects without an outcome: the connection to the runtime has ended. */
async function readStatus({ chunks }: SpdyStream): Promise<string> {
  const parts: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of chunks) {
    bytes += chunk.length;
    if (bytes > MAX_STATUS_BYTES) throw new Error('error stream protocol error: the status of the command is too long');
    parts.push(chunk);
  }
  if (bytes === 0) throw new Error('the connection to the runtime was lost');
  return commandStatus(Buffer.concat(parts).toString('utf8'));
}

function send(client: WebSocketConnection, channel: number, data: Uint8Array): Promise<void> {
  const message = new Uint8Array(1 + data.length);
  message[0] = channel;
  message.set(data, 1);
  return client.send(message);
}

function firstChannel({ stdout, stderr }: StreamOptions): number {
  if (stdout) return CHANNEL.stdout;
  return stderr ? CHANNEL.stderr : CHANNEL.error;
}
