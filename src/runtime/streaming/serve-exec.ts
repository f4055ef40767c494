import { errorText } from '../../base/error-text.ts';
import type { ExecStreams } from '../oci/oci-runtime.ts';
import type { CommandClient, CommandStreams } from './command-client.ts';
import type { CommandOutcome } from './command-outcome.ts';
import {
  type CommandSession,
  forwardInput,
  forwardResizes,
  rejectWhenClientGone,
  serveCommand,
} from './command-session.ts';
import type { IdleTimeout, SessionClock } from './session-timeouts.ts';

export interface ExecSessionOptions {
  readonly command: readonly string[];
  readonly streams: CommandStreams;
}

/** Connects the streams of an exec to a client. If the client disconnects, the process is killed: nothing else could stop it. */
export function serveExec(
  client: CommandClient,
  options: ExecSessionOptions,
  start: (signal: AbortSignal) => Promise<ExecStreams>,
  clock: SessionClock,
): Promise<void> {
  return serveCommand(client, clock, async (session) => {
    const started = await start(session.gone).catch((error: unknown) => errorText(error));
    if (typeof started === 'string') {
      return { kind: 'failed', message: `error executing command in container: ${started}` };
    }
    return forwardStreams(client, started, options, session);
  });
}

/** Rejects when the client is gone. */
async function forwardStreams(
  client: CommandClient,
  process: ExecStreams,
  { command, streams: wanted }: ExecSessionOptions,
  session: CommandSession,
): Promise<CommandOutcome> {
  const { idle } = session;
  try {
    const output = Promise.all([
      forwardOutput(process.stdout, wanted.stdout && ((data) => client.stdout(data)), idle),
      forwardOutput(process.stderr, wanted.stderr && ((data) => client.stderr(data)), idle),
    ]);
    const exited = output.then(() => process.exited);
    void forwardResizes(client, process);
    const input = forwardInput(client, process, idle);
    const exitCode = await Promise.race([exited, rejectWhenClientGone(client, input, session)]);
    return { kind: 'exited', exitCode, command };
  } catch (error) {
    await process.kill();
    throw error;
  }
}

/** Reads output even if the client did not request it, so that the process does not block. */
async function forwardOutput(
  chunks: AsyncIterable<Uint8Array>,
  take: CommandClient['stdout'] | false,
  idle: IdleTimeout,
): Promise<void> {
  for await (const chunk of chunks) {
    idle.touch();
    if (take) await take(chunk);
  }
}
