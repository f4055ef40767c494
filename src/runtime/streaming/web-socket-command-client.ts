import type { WebSocketConnection } from '../../host/network.ts';
import { PacedQueue } from '../../host/paced-queue.ts';
import { CHANNEL } from '../../streams/command-channels.ts';
import { Inbox } from '../../streams/inbox.ts';
import { type ChannelMessage, decodeChannel, encodeChannel } from './channel-messages.ts';
import type { CommandClient, CommandStreams } from './command-client.ts';
import { outcomeText } from './command-outcome.ts';
import type { WebSocketCommandProtocol } from './protocols.ts';
import { type TerminalSize, TerminalSizeParser } from './terminal-size-parser.ts';

/** A client whose streams are channels of one WebSocket. Input that is not taken holds back the sizes that come after it. */
export async function openWebSocketCommandClient(
  connection: WebSocketConnection,
  wanted: CommandStreams,
  { encoding, outcome: form, endsChannels }: WebSocketCommandProtocol,
): Promise<CommandClient> {
  const stdin = new PacedQueue();
  const resizes = new Inbox<TerminalSize>({ kept: 'newest' });
  const sizes = new TerminalSizeParser();
  const send = (channel: number, data: Uint8Array): Promise<void> =>
    connection.send(encodeChannel(encoding, channel, data));
  const obey = async ({ channel, data }: ChannelMessage): Promise<void> => {
    if (channel === CHANNEL.stdin && data.length > 0) await stdin.put(data);
    else if (channel === CHANNEL.resize) for (const size of sizes.push(data)) resizes.put(size);
    else if (channel === CHANNEL.end && endsChannels && data[0] === CHANNEL.stdin) stdin.end();
  };
  const listen = async (): Promise<void> => {
    if (!wanted.stdin) stdin.end();
    try {
      for await (const message of connection.messages) {
        const said = decodeChannel(encoding, message);
        if (said) await obey(said);
      }
    } catch {
      // A connection that fails is a client that is gone.
    }
    stdin.end();
    resizes.end();
  };
  // Clients take the first message for the sign that they are connected.
  await send(firstChannel(wanted), new Uint8Array());
  void listen();
  return {
    stdin,
    resizes,
    stdout: (data) => send(CHANNEL.stdout, data),
    stderr: (data) => send(CHANNEL.stderr, data),
    finish: async (outcome) => {
      const text = outcomeText(outcome, form);
      if (text !== '') await send(CHANNEL.error, Buffer.from(text));
      stdin.end();
      connection.close();
    },
    close: () => {
      stdin.end(); // who waits for room in it waits no more
      connection.close();
    },
    gone: connection.closed,
  };
}

function firstChannel({ stdout, stderr }: CommandStreams): number {
  if (stdout) return CHANNEL.stdout;
  return stderr ? CHANNEL.stderr : CHANNEL.error;
}
