import { errorText } from '../../base/error-text.ts';
import type { AttachedStreams } from '../oci/oci-runtime.ts';
import type { CommandClient, CommandStreams } from './command-client.ts';
import type { CommandOutcome } from './command-outcome.ts';
import {
  type CommandSession,
  forwardInput,
  forwardResizes,
  rejectWhenClientGone,
  serveCommand,
} from './command-session.ts';
import type { SessionClock } from './session-timeouts.ts';

export interface AttachSessionOptions {
  readonly streams: CommandStreams;
  /** The end of the client's input is passed to the container, and its output is still forwarded afterwards. */
  readonly endsInput: boolean;
}

/**
 * Connects the streams of a container's first process to a client.
 * 1. It ends with the container, with the client, or with the client's input if `endsInput` is false.
 * 2. The container keeps running, and the outcome is always success.
 */
export function serveAttach(
  client: CommandClient,
  options: AttachSessionOptions,
  join: (signal: AbortSignal) => Promise<AttachedStreams>,
  clock: SessionClock,
): Promise<void> {
  return serveCommand(client, clock, async (session) => {
    const joined = await join(session.gone).catch((error: unknown) => errorText(error));
    if (typeof joined === 'string') {
      return { kind: 'failed', message: `error attaching to container: ${joined}` };
    }
    return forwardStreams(client, joined, options, session);
  });
}

/** Rejects when the client is gone. */
async function forwardStreams(
  client: CommandClient,
  attached: AttachedStreams,
  { streams: wanted, endsInput }: AttachSessionOptions,
  session: CommandSession,
): Promise<CommandOutcome> {
  const { idle } = session;
  const forwardOutput = async (): Promise<void> => {
    for await (const { stream, data } of attached.output) {
      idle.touch();
      if (wanted[stream]) await client[stream](data);
    }
  };
  const sink = {
    write: (data: Uint8Array) => attached.write(data),
    closeInput: () => {
      if (endsInput) attached.closeInput();
    },
  };
  try {
    void forwardResizes(client, attached);
    const input = wanted.stdin ? forwardInput(client, sink, idle) : Promise.resolve();
    const ends = [forwardOutput(), rejectWhenClientGone(client, input, session)];
    if (wanted.stdin && !endsInput) ends.push(input);
    await Promise.race(ends);
    return { kind: 'detached' };
  } finally {
    attached.detach();
  }
}
