import { Agent as HttpAgent } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import type { SecureContext } from 'node:tls';
import type { Clock } from '../../clock.ts';
import { type HttpPool, type HttpRequest, type HttpResponse, NetworkError } from '../../network.ts';
import { linuxClock } from '../process/linux-clock.ts';
import { exchange, StaleConnectionError, withContext } from './http-request.ts';
import { Http2Connections } from './http2-connections.ts';
import { type Http2Peer, peerOf } from './http2-dial.ts';

/** By TLS context, because agents do not distinguish these, then by proxy or peer. */
type ByContext<T> = Map<SecureContext | undefined, Map<string | undefined, T>>;

/** Keeps connections open between exchanges: HTTP/1.1 by Node's agents, HTTP/2 by `Http2Connections`. */
export function openPool(clock: Clock = linuxClock): HttpPool {
  const plain = new Map<string | undefined, HttpAgent>();
  const secure: ByContext<HttpsAgent> = new Map();
  const multiplexed: ByContext<Http2Connections> = new Map();
  let closed: NetworkError | undefined;

  const agentOf = ({ scheme, proxy }: HttpRequest, context: SecureContext | undefined): HttpAgent => {
    if (scheme !== 'https') return plain.getOrInsertComputed(proxy, () => new HttpAgent(agentOptions(proxy)));
    const ofContext = secure.getOrInsertComputed(context, () => new Map());
    return ofContext.getOrInsertComputed(proxy, () => new HttpsAgent(agentOptions(proxy)));
  };
  const connectionsTo = (peer: Http2Peer, context: SecureContext | undefined): Http2Connections => {
    const ofContext = multiplexed.getOrInsertComputed(context, () => new Map());
    return ofContext.getOrInsertComputed(JSON.stringify(peer), () => new Http2Connections(peer, context, clock));
  };
  const request = async (asked: HttpRequest, signal: AbortSignal): Promise<HttpResponse> => {
    signal.throwIfAborted();
    if (closed) throw closed;
    const peer = peerOf(asked);
    try {
      return await withContext(asked, async (context) => {
        const response = peer && (await connectionsTo(peer, context).request(asked, signal));
        return response ?? exchange(asked, context, agentOf(asked, context), signal);
      });
    } catch (error) {
      const { method, isRepeatable = method === 'GET' } = asked;
      // Each retry drops one stale connection, so in the end a new one is opened.
      if (!(error instanceof StaleConnectionError) || !isRepeatable) throw error;
      return request(asked, signal);
    }
  };
  return {
    request,
    [Symbol.dispose]() {
      closed ??= new NetworkError('EPIPE', 'the connections are closed');
      for (const agent of [plain, ...secure.values()].flatMap((byProxy) => [...byProxy.values()])) agent.destroy();
      for (const peers of multiplexed.values()) for (const each of peers.values()) each.close(closed);
    },
  };
}

function agentOptions(proxy: string | undefined) {
  return { keepAlive: true, ...(proxy !== undefined && { proxyEnv: { HTTP_PROXY: proxy, HTTPS_PROXY: proxy } }) };
}
