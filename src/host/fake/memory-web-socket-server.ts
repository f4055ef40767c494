import {
  NetworkError,
  type ServerResponse,
  type WebSocketConnection,
  type WebSocketHandler,
  type WebSocketOffer,
  type WebSocketRequest,
} from '../network.ts';
import type { MemoryRequest } from './memory-exchange.ts';
import { webSocketPair } from './memory-web-socket.ts';

/** What a server of WebSockets answers to who makes none. */
export function plainAnswer(handler: WebSocketHandler, { path, query, headers }: MemoryRequest): ServerResponse {
  const upgrade = headers.find(([name]) => name.toLowerCase() === 'upgrade')?.[1] ?? '';
  const verdict = handler({ path, query, upgrade, protocols: [] });
  if (verdict.kind === 'accept') return { status: 400, body: 'a WebSocket was expected' };
  return { status: verdict.status, body: verdict.message };
}

/** The client's end, once the server has accepted. */
export function offerWebSocket(
  handler: WebSocketHandler,
  request: WebSocketRequest,
  { signal, severed }: { readonly signal: AbortSignal; readonly severed: AbortSignal },
): WebSocketConnection {
  const verdict = handler(offerOf(request));
  if (verdict.kind === 'refuse') throw new NetworkError('EPROTO', `Unexpected server response: ${verdict.status}`);
  if (verdict.protocol === '' && request.protocols.length > 0) {
    throw new NetworkError('EPROTO', 'Server sent no subprotocol');
  }
  const { client, server } = webSocketPair(verdict.protocol, signal, severed);
  verdict.serve(server);
  return client;
}

function offerOf({ path: url, protocols }: WebSocketRequest): WebSocketOffer {
  const [path = '/', ...query] = url.split('?');
  return { path, query: new URLSearchParams(query.join('?')), upgrade: 'websocket', protocols };
}
