import type { Log } from '../../base/log.ts';
import type {
  Network,
  WebSocketConnection,
  WebSocketOffer,
  WebSocketServer,
  WebSocketVerdict,
} from '../../host/network.ts';
import { StreamingTokens, type StreamingTokensDeps } from './streaming-tokens.ts';

export interface StreamingDeps extends StreamingTokensDeps {
  readonly network: Pick<Network, 'serveWebSockets'>;
  readonly log: Log;
}

/** What is done with the connection of who comes for it. */
export interface StreamingSession {
  readonly kind: 'exec' | 'portforward';
  /** Of the WebSocket, the best first. */
  readonly protocols: readonly string[];
  /** Owns the connection, and ends when that does. */
  serve(connection: WebSocketConnection): Promise<void>;
}

/** Where streams of exec and port-forward are carried, on this machine alone: kubelet lets clients through to it. */
export interface StreamingServer {
  /** The URL at which the session waits for its client, once and for a minute. Listens from the first call on. */
  urlFor(session: StreamingSession): Promise<string>;
  /** Ends all sessions. */
  close(): Promise<void>;
}

export function createStreamingServer(deps: StreamingDeps): StreamingServer {
  const tokens = new StreamingTokens<StreamingSession>(deps);
  let server: Promise<WebSocketServer> | undefined;
  const answer = (offer: WebSocketOffer): WebSocketVerdict => {
    const session = offer.upgrade === 'websocket' ? tokens.take(tokenIn(offer.path)) : undefined;
    return verdictOn(offer, session, (error) => deps.log.warn('a stream failed', { kind: session?.kind, error }));
  };
  const listening = (): Promise<WebSocketServer> => {
    server ??= deps.network.serveWebSockets(answer).catch((error: unknown) => {
      server = undefined;
      throw error;
    });
    return server;
  };
  return {
    urlFor: async (session) => {
      const { port } = await listening();
      return `http://127.0.0.1:${port}/${session.kind}/${tokens.issue(session)}`;
    },
    close: async () => (await server?.catch(() => undefined))?.close(),
  };
}

function tokenIn(path: string): string {
  return path.split('/')[2] ?? '';
}

function verdictOn(
  { path, upgrade, protocols }: WebSocketOffer,
  session: StreamingSession | undefined,
  onFailure: (error: unknown) => void,
): WebSocketVerdict {
  if (upgrade !== 'websocket') {
    const asked = upgrade === '' ? 'a request without an upgrade' : `an upgrade to ${upgrade}`;
    return { kind: 'refuse', status: 400, message: `${asked} is not supported here: use a WebSocket` };
  }
  if (!session || !path.startsWith(`/${session.kind}/`)) {
    return { kind: 'refuse', status: 404, message: 'nothing waits here: the URL was used already, or is too old' };
  }
  const protocol = session.protocols.find((each) => protocols.includes(each));
  if (protocol === undefined) {
    const known = session.protocols.join(', ');
    return { kind: 'refuse', status: 400, message: `none of the offered protocols is supported; these are: ${known}` };
  }
  return { kind: 'accept', protocol, serve: (connection) => void session.serve(connection).catch(onFailure) };
}
