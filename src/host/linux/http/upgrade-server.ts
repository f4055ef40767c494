import { createServer, type IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { WebSocketServer as Upgrader, type WebSocket } from 'ws';
import type { IncomingUpgrade, UpgradeDecision, UpgradeHandler } from '../../network.ts';
import type { TcpServer } from '../../tcp-server.ts';
import { byteStreamOf } from '../net/byte-stream.ts';
import { listenForUpgrades, responseHead } from './upgradable-server.ts';
import { serverConnectionOf } from './web-socket.ts';

type UpgradeRejection = Extract<UpgradeDecision, { kind: 'refuse' }>;

const HOST = '127.0.0.1';
/** As in other container runtimes. */
const MAX_MESSAGE_BYTES = 32 * 1024 * 1024;
const UNEXPECTED_UPGRADE: UpgradeRejection = { kind: 'refuse', status: 400, message: 'another upgrade was expected' };

/** Serves upgraded connections on a free loopback port. */
export async function serveUpgrades(handler: UpgradeHandler): Promise<TcpServer> {
  const webSockets = new WebSockets();
  const server = createServer((request, response) => {
    const decision = handler(incomingUpgrade(request));
    const { status, message, headers = [] } = decision.kind === 'refuse' ? decision : UNEXPECTED_UPGRADE;
    response.writeHead(status, Object.fromEntries([['content-type', 'text/plain'], ...headers])).end(message);
  });
  return listenForUpgrades(server, { host: HOST, port: 0 }, (request, socket, head) => {
    const incoming = incomingUpgrade(request);
    const decision = decideUpgrade(incoming, handler);
    if (decision.kind === 'refuse') rejectUpgrade(socket, decision);
    else if (decision.kind === 'webSocket') webSockets.upgrade({ request, socket, head }, decision);
    else switchProtocols(socket, head, incoming, decision);
  });
}

function incomingUpgrade({ url = '/', headers }: IncomingMessage): IncomingUpgrade {
  const [path = '/', ...query] = url.split('?');
  const asked = headers.upgrade ?? '';
  const upgrade = asked.toLowerCase() === 'websocket' ? 'websocket' : asked;
  const protocols = headers[upgrade === 'websocket' ? 'sec-websocket-protocol' : 'x-stream-protocol-version'] ?? '';
  return {
    path,
    query: new URLSearchParams(query.join('?')),
    upgrade,
    protocols: String(protocols).split(',').map(trim).filter(Boolean),
  };
}

function trim(text: string): string {
  return text.trim();
}

/** For requests with an upgrade. */
function decideUpgrade(incoming: IncomingUpgrade, handler: UpgradeHandler): UpgradeDecision {
  const decision = handler(incoming);
  if (decision.kind === 'refuse') return decision;
  const fits = (decision.kind === 'webSocket') === (incoming.upgrade === 'websocket');
  return fits ? decision : UNEXPECTED_UPGRADE;
}

interface Upgrading {
  readonly request: IncomingMessage;
  readonly socket: Duplex;
  readonly head: Buffer;
}

/** Negotiates protocols itself: the package rejects names that are not tokens, and Kubernetes has one. */
class WebSockets {
  readonly #chosen = new WeakMap<IncomingMessage, string>();
  readonly #upgrader = new Upgrader({
    noServer: true,
    perMessageDeflate: false,
    maxPayload: MAX_MESSAGE_BYTES,
    autoPong: false, // the package would buffer all pongs for a client that does not read them
  });

  constructor() {
    this.#upgrader.on('headers', (headers, request) => {
      const protocol = this.#chosen.get(request);
      if (protocol) headers.push(`Sec-WebSocket-Protocol: ${protocol}`);
    });
  }

  upgrade(
    { request, socket, head }: Upgrading,
    { protocol, serve }: Extract<UpgradeDecision, { kind: 'webSocket' }>,
  ): void {
    this.#chosen.set(request, protocol);
    delete request.headers['sec-websocket-protocol'];
    this.#upgrader.handleUpgrade(request, socket, head, (client: WebSocket) => {
      serve(serverConnectionOf(client, protocol));
    });
  }
}

function switchProtocols(
  socket: Duplex,
  head: Buffer,
  { upgrade }: IncomingUpgrade,
  { headers = [], serve }: Extract<UpgradeDecision, { kind: 'stream' }>,
): void {
  if (!(socket instanceof Socket)) throw new TypeError('a connection of an HTTP server is a socket');
  socket.write(responseHead(101, [['Connection', 'Upgrade'], ['Upgrade', upgrade], ...headers]));
  if (head.length > 0) socket.unshift(head);
  serve(byteStreamOf(socket));
}

function rejectUpgrade(socket: Duplex, { status, message, headers = [] }: UpgradeRejection): void {
  const body = Buffer.from(message);
  const head = responseHead(status, [
    ['Connection', 'close'],
    ['Content-Type', 'text/plain'],
    ['Content-Length', String(body.length)],
    ...headers,
  ]);
  // Also if the client does not close.
  socket.end(Buffer.concat([Buffer.from(head), body]), () => socket.destroy());
}
