import type { ExecStreams } from '../oci/oci-runtime.ts';
import type { CommandClient } from './command-client.ts';
import type { CommandOutcome } from './command-outcome.ts';
import { drainTimeout, IdleTimeout, type SessionClock } from './session-timeouts.ts';

/** State of an exec or attach session. */
export interface CommandSession {
  readonly clock: SessionClock;
  readonly idle: IdleTimeout;
  /** Aborts when the client is gone. */
  readonly gone: AbortSignal;
  /** Aborts when the session is over. */
  readonly over: AbortSignal;
}

/** Serves one client, and sends it the outcome after all output. `run` rejects when the client is gone. */
export async function serveCommand(
  client: CommandClient,
  clock: SessionClock,
  run: (session: CommandSession) => Promise<CommandOutcome>,
): Promise<void> {
  const [gone, over] = [new AbortController(), new AbortController()];
  const idle = new IdleTimeout(clock);
  void idle.watch(() => client.close(), over.signal);
  void client.gone.then(() => gone.abort(new Error('the client is gone')));
  try {
    await client.finish(await run({ clock, idle, gone: gone.signal, over: over.signal }));
  } catch {
    // The client is gone: the error cannot be reported.
  } finally {
    over.abort();
    client.close();
  }
}

export type InputSink = Pick<ExecStreams, 'write' | 'closeInput'>;

/** Resolves when the client's input has ended and the process's input is closed. Never rejects. */
export async function forwardInput({ stdin }: CommandClient, sink: InputSink, idle: IdleTimeout): Promise<void> {
  try {
    for await (const chunk of stdin) {
      idle.touch();
      await sink.write(chunk);
    }
  } catch {
    // The client disconnected: its input has ended.
  }
  try {
    sink.closeInput();
  } catch {
    // The process is gone.
  }
}

/** Forwards terminal sizes until the client is gone. Ignores errors of a resize. Never rejects. */
export async function forwardResizes({ resizes }: CommandClient, process: Pick<ExecStreams, 'resize'>): Promise<void> {
  try {
    for await (const size of resizes) await process.resize(size).catch(() => {});
  } catch {
    // The client is gone.
  }
}

/** Rejects when the client is gone and its input was delivered or timed out; stays pending otherwise. */
export async function rejectWhenClientGone(
  { gone }: CommandClient,
  input: Promise<void>,
  { clock, over }: CommandSession,
): Promise<never> {
  await gone;
  await Promise.race([input, drainTimeout(clock, over)]);
  throw new Error('the client is gone');
}
