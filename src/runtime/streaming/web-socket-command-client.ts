import { BackpressureQueue } from '../../host/backpressure-queue.ts';
import type { WebSocketConnection } from '../../host/network.ts';
import { CHANNEL } from '../../streams/command-channels.ts';
import { Inbox } from '../../streams/inbox.ts';
import { type ChannelMessage, decodeChannel, encodeChannel } from './channel-messages.ts';
import type { CommandClient, CommandStreams } from './command-client.ts';
import { outcomeText } from './command-outcome.ts';
import type { WebSocketCommandProtocol } from './protocols.ts';
import { type TerminalSize, TerminalSizeParser } from './terminal-size-parser.ts';

/** A client whose streams are channels of one WebSocket. Input that is not read delays the sizes after it. */
export async function openWebSocketCommandClient(
  connection: WebSocketConnection,
  wanted: CommandStreams,
  { encoding, outcome: form, endsChannels }: WebSocketCommandProtocol,
): Promise<CommandClient> {
  const stdin = new BackpressureQueue();
  const resizes = new Inbox<TerminalSize>({ keep: 'newest' });
  const sizes = new TerminalSizeParser();
  const send = (channel: number, data: Uint8Array): Promise<void> =>
    connection.send(encodeChannel(encoding, channel, data));
  const handle = async ({ channel, data }: ChannelMessage): Promise<void> => {
    if (channel === CHANNEL.stdin && data.length > 0) await stdin.put(data);
    else if (channel === CHANNEL.resize) for (const size of sizes.push(data)) resizes.put(size);
    else if (channel === CHANNEL.end && endsChannels && data[0] === CHANNEL.stdin) stdin.end();
  };
  const listen = async (): Promise<void> => {
    if (!wanted.stdin) stdin.end();
    try {
      for await (const message of connection.messages) {
        const decoded = decodeChannel(encoding, message);
        if (decoded) await handle(decoded);
      }
    } catch {
      // The connection failed: the client is gone.
    }
    stdin.end();
    resizes.end();
  };
  // Clients wait for a first message as the sign that they are connected.
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
      stdin.end(); // releases a writer that waits for room
      connection.close();
    },
    gone: connection.closed,
  };
}

function firstChannel({ stdout, stderr }: CommandStreams): number {
  if (stdout) return CHANNEL.stdout;
  return stderr ? CHANNEL.stderr : CHANNEL.error;
}
