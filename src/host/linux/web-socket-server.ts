import { once } from 'node:events';
import { createServer, type IncomingMessage, STATUS_CODES } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import { WebSocketServer as Upgrader, type WebSocket } from 'ws';
import type { WebSocketHandler, WebSocketOffer, WebSocketServer, WebSocketVerdict } from '../network.ts';
import { asNetworkError } from './network-error.ts';
import { serverConnectionOf } from './web-socket.ts';

const HOST = '127.0.0.1';
const NO_WEB_SOCKET = { kind: 'refuse', status: 400, message: 'a WebSocket was expected' } as const;

/** Serves WebSockets on a free port of this machine's loopback. */
export async function serveWebSockets(handler: WebSocketHandler): Promise<WebSocketServer> {
  const chosen = new WeakMap<IncomingMessage, string>();
  const upgrader = new Upgrader({
    noServer: true,
    perMessageDeflate: false,
    handleProtocols: (_offered, request) => chosen.get(request) || false,
  });
  const server = createServer((request, response) => {
    const verdict = handler(offerOf(request));
    const { status, message } = verdict.kind === 'refuse' ? verdict : NO_WEB_SOCKET;
    response.writeHead(status, { 'content-type': 'text/plain' }).end(message);
  });
  const clients = new Set<WebSocket>();
  server.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    socket.on('error', () => {}); // a client that is gone before the handshake is of no interest
    const offer = offerOf(request);
    const verdict = handler(offer);
    const isWebSocket = offer.upgrade === 'websocket';
    if (verdict.kind === 'refuse' || !isWebSocket) {
      refuse(socket, verdict.kind === 'refuse' ? verdict : NO_WEB_SOCKET);
      return;
    }
    chosen.set(request, verdict.protocol);
    upgrader.handleUpgrade(request, socket, head, (client) => {
      clients.add(client);
      client.once('close', () => clients.delete(client));
      verdict.serve(serverConnectionOf(client));
    });
  });
  server.listen(0, HOST);
  await once(server, 'listening').catch((error: unknown) => Promise.reject(asNetworkError(error)));
  const { port } = server.address() as AddressInfo; // it listens on TCP
  return {
    port,
    close: async () => {
      for (const client of clients) client.terminate();
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

function offerOf({ url = '/', headers }: IncomingMessage): WebSocketOffer {
  const [path = '/', ...query] = url.split('?');
  const upgrade = headers.upgrade ?? '';
  return {
    path,
    query: new URLSearchParams(query.join('?')),
    upgrade: upgrade.toLowerCase() === 'websocket' ? 'websocket' : upgrade,
    protocols: (headers['sec-websocket-protocol'] ?? '').split(',').map(trim).filter(Boolean),
  };
}

function trim(text: string): string {
  return text.trim();
}

function refuse(socket: Duplex, verdict: Extract<WebSocketVerdict, { kind: 'refuse' }>): void {
  const body = Buffer.from(verdict.message);
  const head = [
    `HTTP/1.1 ${verdict.status} ${STATUS_CODES[verdict.status] ?? ''}`,
    'Connection: close',
    'Content-Type: text/plain',
    `Content-Length: ${body.length}`,
  ];
  socket.end(Buffer.concat([Buffer.from(`${head.join('\r\n')}\r\n\r\n`), body]));
}
