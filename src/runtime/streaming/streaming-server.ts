import type { Log } from '../../base/log.ts';
import { CriError } from '../../cri/cri-error.ts';
import type { Clock } from '../../host/clock.ts';
import type { ByteStream, IncomingUpgrade, Network, UpgradeDecision, WebSocketConnection } from '../../host/network.ts';
import type { TcpServer } from '../../host/tcp-server.ts';
import { SessionLimitError, SessionLimits, type SessionScope } from '../../streams/session-limits.ts';
import { openSpdySession } from '../../streams/spdy/open-spdy-session.ts';
import type { SpdySession } from '../../streams/spdy/spdy-session.ts';
import { webSocketByteStream } from '../../streams/web-socket/web-socket-byte-stream.ts';
import type { CommandClient, CommandStreams } from './command-client.ts';
import { negotiateUpgrade, rejectUpgrade } from './negotiate-upgrade.ts';
import type { PortForwardClient } from './port-forward-client.ts';
import { COMMAND_PROTOCOLS, FORWARD_PROTOCOLS } from './protocols.ts';
import type { SessionClock } from './session-timeouts.ts';
import { openSpdyCommandClient } from './spdy-command-client.ts';
import { openSpdyPortForwardClient } from './spdy-port-forward-client.ts';
import { StreamingTokenCache, type StreamingTokensDeps } from './streaming-token-cache.ts';
import { openWebSocketCommandClient } from './web-socket-command-client.ts';
import { openWebSocketPortForwardClient } from './web-socket-port-forward-client.ts';

export interface StreamingDeps extends StreamingTokensDeps {
  readonly clock: Clock;
  readonly network: Pick<Network, 'serveUpgrades'>;
  readonly log: Log;
  /** How many sessions a pod may have at the same time, with those whose client has not connected yet. */
  readonly sessionsPerPod?: number;
  /** Sessions without traffic are closed after this time; absent: four hours. */
  readonly maxIdleMs?: number | undefined;
}

/** As the kubelet API of this project allows. */
const SESSIONS_PER_POD = 128;

/** A requested session. `serve` owns the client that connects, and resolves when the client is done. */
export type StreamingSession =
  | {
      readonly kind: 'exec' | 'attach';
      readonly streams: CommandStreams;
      serve(client: CommandClient, clock: SessionClock): Promise<void>;
    }
  | {
      readonly kind: 'portforward';
      /** For clients whose protocol does not name a port per connection. */
      readonly ports: readonly number[];
      serve(client: PortForwardClient, clock: SessionClock): Promise<void>;
    };

/** Serves the streams of exec, attach and port-forward on the loopback interface; kubelet proxies clients to it. */
export interface StreamingServer {
  /**
   * Returns a URL that is valid once, within a minute. The first call starts the listener. Rejects with
   * `ResourceExhausted` if the pod has too many sessions.
   */
  urlFor(sandboxId: string, session: StreamingSession): Promise<string>;
  /** Closes all sessions. */
  close(): Promise<void>;
}

export function createStreamingServer(deps: StreamingDeps): StreamingServer {
  const { sessionsPerPod = SESSIONS_PER_POD } = deps;
  const sessions = new SessionLimits();
  const tokens = new StreamingTokenCache<PendingSession>(deps, ({ pending }) => pending[Symbol.dispose]());
  let server: Promise<TcpServer> | undefined;
  const answer = (offer: IncomingUpgrade): UpgradeDecision => {
    const [, kind, token = ''] = offer.path.split('/');
    const taken = tokens.take(token);
    taken?.pending[Symbol.dispose]();
    if (!taken || taken.session.kind !== kind) return rejectUpgrade(404, '404 page not found');
    // The upgrade may still fail: the session counts again when it is served.
    const count = (): Disposable => sessions.open([{ name: taken.scopeName, max: Number.POSITIVE_INFINITY }]);
    return answerUpgrade(offer, taken.session, count, deps);
  };
  const listening = (): Promise<TcpServer> => {
    server ??= deps.network.serveUpgrades(answer).catch((error: unknown) => {
      server = undefined;
      throw error;
    });
    return server;
  };
  return {
    urlFor: async (sandboxId, session) => {
      const { port } = await listening();
      tokens.evictExpired();
      const scopeName = `pod sandbox ${sandboxId}`;
      const pending = openSession(sessions, { name: scopeName, max: sessionsPerPod });
      try {
        return `http://127.0.0.1:${port}/${session.kind}/${tokens.issue({ session, scopeName, pending })}`;
      } catch (error) {
        pending[Symbol.dispose]();
        throw error;
      }
    },
    close: async () => (await server?.catch(() => undefined))?.close(),
  };
}

/** A session whose client has not connected yet. It counts for its pod until `pending` is disposed of. */
interface PendingSession {
  readonly session: StreamingSession;
  readonly scopeName: string;
  readonly pending: Disposable;
}

function openSession(sessions: SessionLimits, scope: SessionScope): Disposable {
  try {
    return sessions.open([scope]);
  } catch (error) {
    if (error instanceof SessionLimitError) throw new CriError('ResourceExhausted', error.message, { cause: error });
    throw error;
  }
}

function answerUpgrade(
  offer: IncomingUpgrade,
  session: StreamingSession,
  count: () => Disposable,
  deps: StreamingDeps,
): UpgradeDecision {
  const negotiated = negotiateUpgrade(offer, session.kind === 'portforward' ? FORWARD_PROTOCOLS : COMMAND_PROTOCOLS);
  if (negotiated.kind === 'refuse') return negotiated;
  const { protocol } = negotiated;
  const watched = async (served: Promise<void>): Promise<void> => {
    using _ = count();
    await served.catch((error: unknown) =>
      deps.log.warn('streaming session failed', { kind: session.kind, protocol, error }),
    );
  };
  if (negotiated.kind === 'webSocket') {
    const serve = (connection: WebSocketConnection): void =>
      void watched(serveWebSocket(connection, protocol, session, deps));
    return { kind: 'webSocket', protocol, serve };
  }
  const serve = (stream: ByteStream): void => void watched(serveSpdy(stream, protocol, session, deps));
  return { kind: 'stream', headers: [['X-Stream-Protocol-Version', protocol]], serve };
}

async function serveWebSocket(
  connection: WebSocketConnection,
  protocol: string,
  session: StreamingSession,
  deps: StreamingDeps,
): Promise<void> {
  try {
    if (session.kind !== 'portforward') {
      const spoken = COMMAND_PROTOCOLS.webSocket.get(protocol);
      if (spoken)
        await session.serve(await openWebSocketCommandClient(connection, session.streams, spoken), sessionClock(deps));
      return;
    }
    const spoken = FORWARD_PROTOCOLS.webSocket.get(protocol);
    if (spoken === 'spdy') await serveSpdy(webSocketByteStream(connection), protocol, session, deps);
    else if (spoken)
      await session.serve(await openWebSocketPortForwardClient(connection, session.ports, spoken), sessionClock(deps));
  } finally {
    connection.close();
  }
}

async function serveSpdy(
  stream: ByteStream,
  protocol: string,
  session: StreamingSession,
  deps: StreamingDeps,
): Promise<void> {
  const { clock } = deps;
  const spdy = openClientSession(stream, clock);
  try {
    if (session.kind === 'portforward') {
      await session.serve(openSpdyPortForwardClient(spdy, clock), sessionClock(deps));
      return;
    }
    const spoken = COMMAND_PROTOCOLS.spdy.get(protocol);
    if (spoken)
      await session.serve(await openSpdyCommandClient(spdy, session.streams, spoken, clock), sessionClock(deps));
  } finally {
    await spdy.close();
  }
}

function sessionClock({ clock, maxIdleMs }: StreamingDeps): SessionClock {
  return { monotonic: () => clock.monotonic(), sleep: (ms, signal) => clock.sleep(ms, signal), maxIdleMs };
}

/** Time limit for a client to close the connection after GOAWAY. */
const CLOSE_TIMEOUT_MS = 10_000;

/** A server-side SPDY session. After `close`, a client that neither reads nor disconnects is disconnected by the timeout. */
function openClientSession(transport: ByteStream, clock: Pick<Clock, 'deadline'>): SpdySession {
  const session = openSpdySession(transport, 'server');
  let isClosing = false;
  return {
    incoming: session.incoming,
    open: (headers, signal) => session.open(headers, signal),
    closed: session.closed,
    close: () => {
      if (!isClosing)
        clock.deadline(CLOSE_TIMEOUT_MS).addEventListener('abort', () => transport.close(), { once: true });
      isClosing = true;
      return session.close();
    },
  };
}
