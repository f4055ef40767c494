import { Agent as HttpAgent } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import type { SecureContext } from 'node:tls';
import { type HttpPool, type HttpRequest, type HttpResponse, NetworkError } from '../network.ts';
import { exchangeOver, StaleConnectionError } from './http-request.ts';

/** Connections that stay open between exchanges. */
export function openPool(): HttpPool {
  const plain = new Map<string | undefined, HttpAgent>();
  const secure = new Map<SecureContext | undefined, Map<string | undefined, HttpsAgent>>();
  let isClosed = false;

  const plainAgent = (proxy: string | undefined): HttpAgent =>
    plain.getOrInsertComputed(proxy, () => new HttpAgent(agentOptions(proxy)));
  const secureAgent = (context: SecureContext | undefined, proxy: string | undefined): HttpsAgent =>
    secure
      .getOrInsertComputed(context, () => new Map())
      .getOrInsertComputed(proxy, () => new HttpsAgent(agentOptions(proxy)));
  const request = async (asked: HttpRequest, signal: AbortSignal): Promise<HttpResponse> => {
    signal.throwIfAborted();
    if (isClosed) throw new NetworkError('EPIPE', 'the connections are closed');
    try {
      const { scheme, proxy } = asked;
      const agentOf = (context: SecureContext | undefined) =>
        scheme === 'https' ? secureAgent(context, proxy) : plainAgent(proxy);
      return await exchangeOver(asked, agentOf, signal);
    } catch (error) {
      const { method, isRepeatable = method === 'GET' } = asked;
      // Each time one of those that were kept is gone; at last a new one is made.
      if (!(error instanceof StaleConnectionError) || !isRepeatable) throw error;
      return request(asked, signal);
    }
  };
  return {
    request,
    [Symbol.dispose]() {
      isClosed = true;
      const made = [plain, ...secure.values()].flatMap((byProxy) => [...byProxy.values()]);
      for (const agent of made) agent.destroy();
    },
  };
}

function agentOptions(proxy: string | undefined) {
  return { keepAlive: true, ...(proxy !== undefined && { proxyEnv: { HTTP_PROXY: proxy, HTTPS_PROXY: proxy } }) };
}
