import { errorText } from '../../base/error-text.ts';
import type { ByteStream } from '../../host/network.ts';
import type { ForwardedConnection, PortForwardClient } from './port-forward-client.ts';
import { IdleTimeout, drainTimeout, type SessionClock } from './session-timeouts.ts';

/** Connects to a port of the pod. What comes from there need be good only until more is asked for. */
export type PortDialer = (port: number, signal: AbortSignal) => Promise<ByteStream>;

export interface PortForwardOptions {
  readonly sandboxId: string;
  /** Those that may be asked for; none: all. */
  readonly ports: readonly number[];
}

/** Carries connections to ports of a pod, any number at once, until the client goes. */
export async function servePortForward(
  client: PortForwardClient,
  options: PortForwardOptions,
  dial: PortDialer,
  clock: SessionClock,
): Promise<void> {
  const over = new AbortController();
  const idle = new IdleTimeout(clock);
  void idle.watch(() => client.close(), over.signal);
  const carried = new Set<Promise<void>>();
  const accept = async (): Promise<void> => {
    for await (const connection of client.connections) {
      const carrying = serveConnection(connection, options, { dial, idle, over: over.signal });
      carried.add(carrying);
      void carrying.finally(() => carried.delete(carrying));
    }
  };
  try {
    await Promise.race([accept(), client.gone]);
    await Promise.race([Promise.all(carried), drainTimeout(clock, over.signal)]);
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

/** One connection to its end. Never rejects: a client that cannot be told of a failure is gone. */
async function serveConnection(connection: ForwardedConnection, options: PortForwardOptions, session: Session): Promise<void> {
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

async function dialAllowedPort(port: number, { ports }: PortForwardOptions, { dial, over }: Session): Promise<ByteStream> {
  if (ports.length > 0 && !ports.includes(port)) throw new Error('the port was not asked for');
  return dial(port, over);
}

/** Rejects when the client takes no more. */
async function forwardBoth(connection: ForwardedConnection, pod: ByteStream, { idle, over }: Session): Promise<void> {
  const close = (): void => pod.close();
  over.addEventListener('abort', close, { once: true });
  try {
    const input = forwardToPod(connection, pod, idle);
    connection.closed.then(() => input).then(close, close); // a pod that says nothing would never be told
    try {
      for await (const chunk of pod.chunks) {
        idle.touch();
        await connection.write(chunk);
      }
      await connection.end();
    } finally {
      await input; // what the client said before it went, or to a pod that still listens
    }
  } finally {
    over.removeEventListener('abort', close);
    pod.close();
  }
}

/** What a pod does not take any more is read all the same: it would stand in the way of the client's other connections. */
async function forwardToPod({ chunks }: ForwardedConnection, pod: ByteStream, idle: IdleTimeout): Promise<void> {
  let listens = true;
  try {
    for await (const chunk of chunks) {
      idle.touch();
      if (listens) listens = await isWritten(pod, chunk);
    }
  } catch {
    // A client that broke off in the middle has nothing more to say either.
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
