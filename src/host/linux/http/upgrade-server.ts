import { createServer, type IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { WebSocketServer as Upgrader, type WebSocket } from 'ws';
import type { UpgradeHandler, IncomingUpgrade, UpgradeDecision } from '../../network.ts';
import type { TcpServer } from '../../tcp-server.ts';
import { byteStreamOf } from '../net/byte-stream.ts';
import { answerHead, listenForUpgrades } from './upgradable-server.ts';
import { serverConnectionOf } from './web-socket.ts';

type Refusal = Extract<UpgradeDecision, { kind: 'refuse' }>;

const HOST = '127.0.0.1';
/** As in other runtimes. */
const MOST_MESSAGE_BYTES = 32 * 1024 * 1024;
const NOT_ASKED_FOR: Refusal = { kind: 'refuse', status: 400, message: 'another upgrade was expected' };

/** Serves what becomes of HTTP connections, on a free port of this machine's loopback. */
export async function serveUpgrades(handler: UpgradeHandler): Promise<TcpServer> {
  const webSockets = new WebSockets();
  const server = createServer((request, response) => {
    const verdict = handler(offerOf(request));
    const { status, message, headers = [] } = verdict.kind === 'refuse' ? verdict : NOT_ASKED_FOR;
    response.writeHead(status, Object.fromEntries([['content-type', 'text/plain'], ...headers])).end(message);
  });
  return listenForUpgrades(server, { host: HOST, port: 0 }, (request, socket, head) => {
    const offer = offerOf(request);
    const verdict = verdictOn(offer, handler);
    if (verdict.kind === 'refuse') refuse(socket, verdict);
    else if (verdict.kind === 'webSocket') webSockets.upgrade({ request, socket, head }, verdict);
    else switchProtocols(socket, head, offer, verdict);
  });
}

function offerOf({ url = '/', headers }: IncomingMessage): IncomingUpgrade {
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

/** Of a request that asks for an upgrade. */
function verdictOn(offer: IncomingUpgrade, handler: UpgradeHandler): UpgradeDecision {
  const verdict = handler(offer);
  if (verdict.kind === 'refuse') return verdict;
  const fits = (verdict.kind === 'webSocket') === (offer.upgrade === 'websocket');
  return fits ? verdict : NOT_ASKED_FOR;
}

interface Upgrading {
  readonly request: IncomingMessage;
  readonly socket: Duplex;
  readonly head: Buffer;
}

/** Chooses protocols itself: the package refuses names that are no tokens, of which Kubernetes has one. */
class WebSockets {
  readonly #chosen = new WeakMap<IncomingMessage, string>();
  readonly #upgrader = new Upgrader({
    noServer: true,
    perMessageDeflate: false,
    maxPayload: MOST_MESSAGE_BYTES,
    autoPong: false, // the package would keep all answers to a client that does not read them
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
  socket.write(answerHead(101, [['Connection', 'Upgrade'], ['Upgrade', upgrade], ...headers]));
  if (head.length > 0) socket.unshift(head);
  serve(byteStreamOf(socket));
}

function refuse(socket: Duplex, { status, message, headers = [] }: Refusal): void {
  const body = Buffer.from(message);
  const head = answerHead(status, [
    ['Connection', 'close'],
    ['Content-Type', 'text/plain'],
    ['Content-Length', String(body.length)],
    ...headers,
  ]);
  // Whether or not the client hangs up.
  socket.end(Buffer.concat([Buffer.from(head), body]), () => socket.destroy());
}
