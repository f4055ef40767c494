import { once } from 'node:events';
import { createSecureServer, type Http2SecureServer, type SecureServerOptions } from 'node:http2';
import type { AddressInfo, Server, Socket } from 'node:net';
import type { TestContext } from 'node:test';
import { createServer as createTlsServer, type TLSSocket } from 'node:tls';
import type { DialTarget, HttpRequest } from '../../../src/host/network.ts';
import type { Echo } from './network-worlds.ts';
import { makeCertificate, type Pair } from './own-certificate.ts';
import { temporaryFolder } from './temporary-folder.ts';

/** An HTTP/2 server on loopback. */
export interface Http2Place {
  /** The common part of every request to it. */
  readonly way: Pick<HttpRequest, 'scheme' | 'mayMultiplex' | 'tls'> & { readonly target: DialTarget };
  /** All connections so far. */
  readonly sockets: readonly Socket[];
}

export async function ownPair(t: TestContext): Promise<Pair> {
  return makeCertificate(await temporaryFolder(t), 'server');
}

/** Node's own HTTP/2 server with the handler `serve`. */
export async function startHttp2(
  t: TestContext,
  serve: (server: Http2SecureServer) => void,
  options: SecureServerOptions = {},
): Promise<Http2Place> {
  const { certificate, key } = await ownPair(t);
  const server = createSecureServer({ key, cert: certificate, ...options });
  serve(server);
  return listen(t, server, certificate);
}

export async function listen(t: TestContext, server: Server, authority: string): Promise<Http2Place> {
  const { target, sockets } = await listenLocally(t, server);
  return { way: { target, scheme: 'https', mayMultiplex: true, tls: { authorities: [authority] } }, sockets };
}

/** Listens on a free port until the end of the test, which also ends its connections. */
export async function listenLocally(
  t: TestContext,
  server: Server,
): Promise<{ target: { host: string; port: number }; sockets: Socket[] }> {
  const sockets: Socket[] = [];
  server.on('connection', (socket) => sockets.push(socket));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  const { port } = server.address() as AddressInfo; // it listens on TCP
  return { target: { host: '127.0.0.1', port }, sockets };
}

/** As the echo of a `NetworkWorld`; `/endless` sends as fast as it is read, `/silent` sends nothing. */
export function echo(server: Http2SecureServer): void {
  server.on('request', async (request, response) => {
    const { method, url, headers } = request;
    response.on('error', () => {});
    if (url === '/silent') return;
    if (url === '/endless') {
      const send = (error?: Error | null): void => void (error || response.write(Buffer.alloc(65_536), send));
      send();
      return;
    }
    let body = '';
    for await (const chunk of request) body += chunk;
    const values = Object.entries(headers).map(([name, value]) => [name, [value].flat()]);
    const echoed: Echo = { method, url, headers: Object.fromEntries(values), body };
    response.writeHead(202, { 'X-Answer': 'yes' }).end(JSON.stringify(echoed));
  });
}

const TYPES = { 0: 'DATA', 1: 'HEADERS', 3: 'RST_STREAM', 4: 'SETTINGS', 6: 'PING', 7: 'GOAWAY' } as const;
type FrameType = (typeof TYPES)[keyof typeof TYPES];

/** A frame of the client; stream ids are 1, 3, 5, … on each connection. */
export interface Frame {
  readonly type: FrameType | undefined;
  readonly isAck: boolean;
  readonly stream: number;
  readonly body: Buffer;
}

/** The server's end of one connection. */
export interface FrameConnection {
  readonly socket: TLSSocket;
  /** Resets the connection. */
  reset(): void;
  send(...frames: readonly Buffer[]): void;
}

/**
 * A server that sends only the frames of a test, to simulate misbehaviour. It acknowledges the client's SETTINGS and nothing
 * else.
 */
export async function startFrames(
  t: TestContext,
  onFrame: (frame: Frame, connection: FrameConnection, number: number) => void,
): Promise<Http2Place> {
  const { certificate, key } = await ownPair(t);
  let connections = 0;
  const server = createTlsServer({ key, cert: certificate, ALPNProtocols: ['h2'] }, (socket) => {
    const number = ++connections;
    const connection: FrameConnection = {
      socket,
      reset: () => void place.sockets[number - 1]?.resetAndDestroy(),
      send: (...frames) => void socket.write(Buffer.concat(frames)),
    };
    let rest = Buffer.alloc(0);
    let isFirst = true;
    let isGreeted = false;
    connection.send(frame('SETTINGS'));
    socket.on('error', () => {});
    socket.on('data', (data: Buffer) => {
      rest = Buffer.concat([rest, data]);
      if (!isGreeted && rest.length < PREFACE) return;
      if (!isGreeted) rest = rest.subarray(PREFACE);
      isGreeted = true;
      for (let next = firstFrame(rest); next !== undefined; next = firstFrame(rest)) {
        rest = rest.subarray(HEAD + next.body.length);
        if (isFirst) connection.send(frame('SETTINGS', { isAck: true }));
        else onFrame(next, connection, number);
        isFirst = false;
      }
    });
  });
  const place = await listen(t, server, certificate);
  return place;
}

/** `PRI * HTTP/2.0 …` */
const PREFACE = 24;
const HEAD = 9;
const END_OR_ACK = 1;
const END_HEADERS = 4;

function firstFrame(bytes: Buffer): Frame | undefined {
  if (bytes.length < HEAD) return undefined;
  const length = bytes.readUIntBE(0, 3);
  if (bytes.length < HEAD + length) return undefined;
  const type = Object.entries(TYPES).find(([number]) => Number(number) === bytes[3])?.[1];
  const isAck = ((bytes[4] ?? 0) & END_OR_ACK) !== 0;
  return { type, isAck, stream: bytes.readUInt32BE(5), body: bytes.subarray(HEAD, HEAD + length) };
}

interface FrameParts {
  readonly stream?: number;
  readonly isAck?: boolean;
  readonly isEnd?: boolean;
  readonly body?: Buffer | string;
}

export function frame(type: FrameType, { stream = 0, isAck, isEnd, body = '' }: FrameParts = {}): Buffer {
  const bytes = Buffer.from(body);
  const head = Buffer.alloc(HEAD);
  head.writeUIntBE(bytes.length, 0, 3);
  head[3] = Number(Object.entries(TYPES).find(([, name]) => name === type)?.[0]);
  head[4] = (isAck || isEnd ? END_OR_ACK : 0) | (type === 'HEADERS' ? END_HEADERS : 0);
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, bytes]);
}

/** Status 200. */
export const answered = (stream: number): Buffer => frame('HEADERS', { stream, body: Buffer.from([0x88]) });
export const sent = (stream: number, body: string): Buffer => frame('DATA', { stream, body });
export const ended = (stream: number, body: string): Buffer => frame('DATA', { stream, body, isEnd: true });
export const reset = (stream: number, code: number): Buffer => frame('RST_STREAM', { stream, body: words(code) });
/** Streams after `lastStream` were not processed. */
export const goAway = (lastStream: number, code = 0): Buffer => frame('GOAWAY', { body: words(lastStream, code) });

function words(...values: readonly number[]): Buffer {
  const bytes = Buffer.alloc(4 * values.length);
  for (const [index, value] of values.entries()) bytes.writeUInt32BE(value, 4 * index);
  return bytes;
}
