import { textOf } from '../../base/text-of.ts';
import type { Clock } from '../../host/clock.ts';
import type { ByteStream, WebSocketConnection } from '../../host/network.ts';
import { lastWordsOver } from './last-words.ts';

export const PORT_FORWARD_PROTOCOLS = ['v4.channel.k8s.io'] as const;

/** A message begins with one byte for its channel, and a port has two channels. */
export const MOST_PORTS = 128;

/** Connects to a port of the pod. */
export type PortDialler = (port: number, signal: AbortSignal) => Promise<ByteStream>;

export interface PortForwardOptions {
  readonly sandboxId: string;
  readonly ports: readonly number[];
}

/**
 * Carries connections to ports of a pod. Each port has two channels: an even one for its data, the odd one after it for
 * errors. Ends when no port has a connection any more, or when the client goes.
 */
export async function servePortForward(
  connection: WebSocketConnection,
  { sandboxId, ports }: PortForwardOptions,
  dial: PortDialler,
  clock: Pick<Clock, 'sleep'>,
): Promise<void> {
  const gone = new AbortController();
  const streams: Promise<ByteStream>[] = [];
  try {
    for (const [index, port] of ports.entries()) {
      await connection.send(onChannel(2 * index, portBytes(port)));
      await connection.send(onChannel(2 * index + 1, portBytes(port)));
    }
    streams.push(...ports.map((port) => dial(port, gone.signal)));
    const forwards = streams.map((stream, index) =>
      forwardOut(connection, 2 * index, stream).catch((error: unknown) => {
        const message = `error forwarding port ${ports[index]} to pod ${sandboxId}, uid : ${textOf(error)}`;
        return connection.send(onChannel(2 * index + 1, Buffer.from(message)));
      }),
    );
    const left = lastWordsOver(connection, clock, gone.signal);
    await Promise.race([Promise.all(forwards), forwardIn(connection, streams), left]);
  } finally {
    gone.abort();
    for (const stream of streams) void stream.then((open) => open.close()).catch(() => {});
    connection.close();
  }
}

async function forwardOut(
  connection: WebSocketConnection,
  channel: number,
  dialled: Promise<ByteStream>,
): Promise<void> {
  const stream = await dialled;
  for await (const chunk of stream.chunks) await connection.send(onChannel(channel, chunk));
}

/** Resolves when the client is gone. What is for a port that is not there any more is dropped: its error was told. */
async function forwardIn(connection: WebSocketConnection, dialled: readonly Promise<ByteStream>[]): Promise<void> {
  for await (const message of connection.messages) {
    const [channel = 0] = message;
    const stream = channel % 2 === 0 ? dialled[channel / 2] : undefined;
    await stream?.then((open) => open.write(message.subarray(1))).catch(() => {});
  }
}

function onChannel(channel: number, data: Uint8Array): Uint8Array {
  return Buffer.concat([Uint8Array.of(channel), data]);
}

/** Little-endian. */
function portBytes(port: number): Uint8Array {
  return Uint8Array.of(port & 0xff, port >> 8);
}
