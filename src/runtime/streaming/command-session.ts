import type { ExecStreams } from '../oci/oci-runtime.ts';
import type { CommandClient } from './command-client.ts';
import type { CommandOutcome } from './command-outcome.ts';
import { IdleTimeout, drainTimeout, type SessionClock } from './session-timeouts.ts';

/** What exec and attach have in common. */
export interface CommandSession {
  readonly clock: SessionClock;
  readonly idle: IdleTimeout;
  /** Aborts when the client is gone. */
  readonly gone: AbortSignal;
  /** Aborts when all is over. */
  readonly over: AbortSignal;
}

/** Serves one client to its end, which it hears after all output. `run` rejects when the client is gone. */
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
    // The client is gone, and with it who could be told anything.
  } finally {
    over.abort();
    client.close();
  }
}

export type InputSink = Pick<ExecStreams, 'write' | 'closeInput'>;

/** Resolves when the client's input has ended, and the process knows. Never rejects. */
export async function forwardInput({ stdin }: CommandClient, sink: InputSink, idle: IdleTimeout): Promise<void> {
  try {
    for await (const chunk of stdin) {
      idle.touch();
      await sink.write(chunk);
    }
  } catch {
    // A client that broke off in the middle has nothing more to say either.
  }
  try {
    sink.closeInput();
  } catch {
    // The process is gone.
  }
}

/** Until the client is gone. A window is not worth the session: what cannot be resized stays as it is. Never rejects. */
export async function forwardResizes({ resizes }: CommandClient, process: Pick<ExecStreams, 'resize'>): Promise<void> {
  try {
    for await (const size of resizes) await process.resize(size).catch(() => {});
  } catch {
    // The client is gone.
  }
}

/** Rejects when the client is gone and its last words have been taken, or had their time; stays pending otherwise. */
export async function rejectWhenClientGone(
  { gone }: CommandClient,
  input: Promise<void>,
  { clock, over }: CommandSession,
): Promise<never> {
  await gone;
  await Promise.race([input, drainTimeout(clock, over)]);
  throw new Error('the client is gone');
}
