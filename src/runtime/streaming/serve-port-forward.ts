import { errorText } from '../../base/error-text.ts';
import type { ByteStream } from '../../host/network.ts';
import type { ForwardedConnection, PortForwardClient } from './port-forward-client.ts';
import { drainTimeout, IdleTimeout, type SessionClock } from './session-timeouts.ts';

/** Connects to a port of the pod. A received chunk is valid only until the next one is read. */
export type PortDialer = (port: number, signal: AbortSignal) => Promise<ByteStream>;

export interface PortForwardOptions {
  readonly sandboxId: string;
  /** Allowed ports; empty: all. */
  readonly ports: readonly number[];
}

/** Forwards any number of concurrent connections to ports of a pod, until the client is gone. */
export async function servePortForward(
  client: PortForwardClient,
  options: PortForwardOptions,
  dial: PortDialer,
  clock: SessionClock,
): Promise<void> {
  const over = new AbortController();
  const idle = new IdleTimeout(clock);
  void idle.watch(() => client.close(), over.signal);
  const connections = new Set<Promise<void>>();
  const accept = async (): Promise<void> => {
    for await (const connection of client.connections) {
      const serving = serveConnection(connection, options, { dial, idle, over: over.signal });
      connections.add(serving);
      void serving.finally(() => connections.delete(serving));
    }
  };
  try {
    await Promise.race([accept(), client.gone]);
    await Promise.race([Promise.all(connections), drainTimeout(clock, over.signal)]);
  } finally {
    over.abort();
    client.close();
  }
}

interface Session {
  readonly dial: PortDialer;
  readonly idle: IdleTimeout;
  readonly over: AbortSignal;
}

/** Serves one connection until it ends. Never rejects: if an error cannot be sent, the client is gone. */
async function serveConnection(
  connection: ForwardedConnection,
  options: PortForwardOptions,
  session: Session,
): Promise<void> {
  try {
    const pod = await dialAllowedPort(connection.port, options, session);
    await forwardBoth(connection, pod, session);
    await connection.close();
  } catch (error) {
    const { port } = connection;
    const message = `error forwarding port ${port} to pod ${options.sandboxId}, uid : ${errorText(error)}`;
    await connection.fail(message).catch(() => {});
  }
}

async function dialAllowedPort(
  port: number,
  { ports }: PortForwardOptions,
  { dial, over }: Session,
): Promise<ByteStream> {
  if (ports.length > 0 && !ports.includes(port)) throw new Error('port was not requested');
  return dial(port, over);
}

/** Rejects when the client accepts no more data. */
async function forwardBoth(connection: ForwardedConnection, pod: ByteStream, { idle, over }: Session): Promise<void> {
  const close = (): void => pod.close();
  over.addEventListener('abort', close, { once: true });
  try {
    const input = forwardToPod(connection, pod, idle);
    connection.closed.then(() => input).then(close, close); // a pod that sends nothing would not notice otherwise
    try {
      for await (const chunk of pod.chunks) {
        idle.touch();
        await connection.write(chunk);
      }
      await connection.end();
    } finally {
      await input; // data sent before the client left, or to a pod that still reads
    }
  } finally {
    over.removeEventListener('abort', close);
    pod.close();
  }
}

/** Keeps reading when the pod accepts no more data: unread data would block the client's other connections. */
async function forwardToPod({ chunks }: ForwardedConnection, pod: ByteStream, idle: IdleTimeout): Promise<void> {
  let podReads = true;
  try {
    for await (const chunk of chunks) {
      idle.touch();
      if (podReads) podReads = await isWritten(pod, chunk);
    }
  } catch {
    // The client disconnected: its input has ended.
  }
  pod.end();
}

async function isWritten(pod: ByteStream, chunk: Uint8Array): Promise<boolean> {
  try {
    await pod.write(chunk);
    return true;
  } catch {
    return false;
  }
}
