import { once } from 'node:events';
import { link, rename } from 'node:fs/promises';
import { createServer } from 'node:http';
import { type AddressInfo, createServer as createTcpServer } from 'node:net';
import type { TestContext } from 'node:test';
import { promisify } from 'node:util';
import { Server, ServerCredentials, type ServerUnaryCall, type sendUnaryData } from '@grpc/grpc-js';
import { type WebSocket, WebSocketServer } from 'ws';
import type { MemoryRequest } from '../../../src/host/fake/memory-exchange.ts';
import { createMemoryHost } from '../../../src/host/fake/memory-host.ts';
import type { MemoryGrpcHandler } from '../../../src/host/fake/memory-network.ts';
import type { FileSystem } from '../../../src/host/file-system.ts';
import { linuxFileSystem } from '../../../src/host/linux/fs/linux-file-system.ts';
import { linuxNetwork } from '../../../src/host/linux/linux-network.ts';
import type { DialTarget, GrpcResponse, Network, WebSocketConnection } from '../../../src/host/network.ts';
import { temporaryFolder } from './temporary-folder.ts';

/** A network with the servers that its contract needs. */
export interface NetworkWorld {
  readonly network: Network;
  readonly fs: FileSystem;
  /** For socket files. */
  readonly root: string;
  /** Responds with 202, the header `X-Answer: yes` and an `Echo` of the request as JSON; to `/moved` with a redirect. */
  readonly echo: DialTarget;
  /** Accepts connections and never responds. */
  readonly silent: DialTarget;
  /** Without a listener. */
  readonly closed: DialTarget;
  /** WebSocket with the protocols `v2` and `v1`: sends every message back; the message `bye` closes. */
  readonly webSocketEcho: DialTarget;
  /** WebSocket with the protocol `v1`: sends this many messages of 64 KiB as fast as they are read, then closes. */
  webSocketFlood(count: number): Promise<DialTarget>;
  /**
   * gRPC: `/echo` sends the message back, `/agent` who asked, `/refused` code 7 with the text "grüß 100%", `/silent`
   * nothing, `/broken` ends the connection.
   */
  readonly grpc: DialTarget;
  /** Leaves a stale socket file. */
  leaveStaleSocket(path: string): Promise<void>;
}

/** The request that the echo server received. */
export interface Echo {
  readonly method: string;
  readonly url: string;
  /** Lower-case names. */
  readonly headers: Record<string, string[] | undefined>;
  readonly body: string;
}

export async function linuxNetworkWorld(t: TestContext): Promise<NetworkWorld> {
  const listen = async (server: ReturnType<typeof createTcpServer>): Promise<DialTarget> => {
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    t.after(() => server.close());
    const { port } = server.address() as AddressInfo; // it listens on TCP
    return { host: '127.0.0.1', port };
  };
  const webSocket = async (onConnection: (server: WebSocketServer) => void): Promise<DialTarget> => {
    const handleProtocols = (offered: Set<string>) => ['v2', 'v1'].find((each) => offered.has(each)) ?? false;
    const server = new WebSocketServer({ host: '127.0.0.1', port: 0, handleProtocols });
    await once(server, 'listening');
    onConnection(server);
    t.after(() => {
      for (const client of server.clients) client.terminate();
      server.close();
    });
    const { port } = server.address() as AddressInfo;
    return { host: '127.0.0.1', port };
  };
  const silent = createTcpServer((socket) => t.after(() => socket.destroy()));
  return {
    network: linuxNetwork,
    fs: linuxFileSystem,
    root: await temporaryFolder(t),
    echo: await listen(linuxEcho()),
    silent: await listen(silent),
    closed: { host: '127.0.0.1', port: 1 }, // never assigned as a free port
    grpc: await linuxGrpc(t),
    webSocketEcho: await webSocket((server) => server.on('connection', echoMessages)),
    webSocketFlood: (count) =>
      webSocket((server) =>
        server.on('connection', (client) => {
          const send = (left: number): void =>
            left === 0 ? client.close() : client.send(new Uint8Array(65_536), () => send(left - 1));
          send(count);
        }),
      ),
    leaveStaleSocket: async (path) => {
      const server = createTcpServer();
      server.listen(`${path}.first`);
      await once(server, 'listening');
      await link(`${path}.first`, `${path}.kept`);
      server.close(); // removes the name that it listened on
      await once(server, 'close');
      await rename(`${path}.kept`, path);
    },
  };
}

function echoMessages(client: WebSocket): void {
  client.on('message', (data: Buffer) => (data.toString() === 'bye' ? client.close() : client.send(data)));
}

/** With the gRPC library. */
async function linuxGrpc(t: TestContext): Promise<DialTarget> {
  const server = new Server();
  const method = (path: string) => ({
    path,
    requestStream: false,
    responseStream: false,
    requestSerialize: Buffer.from,
    requestDeserialize: (bytes: Buffer) => bytes,
    responseSerialize: Buffer.from,
    responseDeserialize: (bytes: Buffer) => bytes,
  });
  type Call = ServerUnaryCall<Uint8Array, Uint8Array>;
  type Answer = sendUnaryData<Uint8Array>;
  server.addService(
    {
      echo: method('/echo'),
      agent: method('/agent'),
      refused: method('/refused'),
      silent: method('/silent'),
      broken: method('/broken'),
    },
    {
      echo: ({ request }: Call, answer: Answer) => answer(null, request),
      agent: ({ metadata }: Call, answer: Answer) =>
        answer(null, new TextEncoder().encode(String(metadata.get('user-agent')[0]))),
      refused: (_: Call, answer: Answer) => answer({ code: 7, details: DENIED_DETAILS }),
      silent: () => {},
      broken: () => server.forceShutdown(),
    },
  );
  const bind = promisify(server.bindAsync.bind(server));
  const port = await bind('127.0.0.1:0', ServerCredentials.createInsecure());
  t.after(() => server.forceShutdown());
  return { host: '127.0.0.1', port };
}

const DENIED_DETAILS = 'grüß 100%';

async function memoryGrpc({ path, message, userAgent }: Parameters<MemoryGrpcHandler>[0]): Promise<GrpcResponse> {
  const answer: GrpcResponse = { code: 0, details: '', message };
  if (path === '/echo') return answer;
  if (path === '/agent') return { ...answer, message: new TextEncoder().encode(userAgent) };
  if (path === '/refused') return { code: 7, details: DENIED_DETAILS, message: new Uint8Array() };
  if (path === '/silent') return new Promise(() => {});
  if (path === '/broken') throw new Error('the server ends');
  return { code: 12, details: `The server does not implement the method ${path}`, message: new Uint8Array() };
}

function linuxEcho() {
  return createServer(async (request, response) => {
    let body = '';
    for await (const chunk of request) body += chunk;
    if (request.url === '/moved') return response.writeHead(302, { Location: '/echo' }).end();
    const { method = '', url = '', headersDistinct } = request;
    const echo: Echo = { method, url, headers: { ...headersDistinct }, body };
    return response.writeHead(202, { 'X-Answer': 'yes' }).end(JSON.stringify(echo));
  });
}

export async function memoryNetworkWorld(): Promise<NetworkWorld> {
  const { network, fs } = createMemoryHost();
  await fs.makeDirectory('/run');
  const at = (port: number): DialTarget => ({ host: '10.0.0.1', port });
  network.listen(at(80), { http: memoryEcho });
  network.listen(at(81), { http: () => new Promise(() => {}) });
  network.listen(at(82), {
    webSocket: {
      protocols: ['v2', 'v1'],
      accept: (connection) => {
        void (async () => {
          for await (const message of connection.messages) {
            if (new TextDecoder().decode(message) === 'bye') connection.close();
            else await connection.send(message);
          }
        })();
      },
    },
  });
  network.listen(at(84), { grpc: memoryGrpc });
  return {
    network,
    fs,
    root: '/run',
    echo: at(80),
    silent: at(81),
    closed: at(1),
    grpc: at(84),
    webSocketEcho: at(82),
    webSocketFlood: async (count) => {
      const flood = async (connection: WebSocketConnection): Promise<void> => {
        for (let left = count; left > 0; left--) await connection.send(new Uint8Array(65_536));
        connection.close();
      };
      network.listen(at(83), { webSocket: { protocols: ['v1'], accept: (connection) => void flood(connection) } });
      return at(83);
    },
    leaveStaleSocket: async (path) => {
      await network.serve({ socketPath: path, mode: 0o600 }, async () => ({ status: 200, body: '' }));
      network.killServers();
    },
  };
}

export async function memoryEcho({ method, path, query, headers, body }: MemoryRequest) {
  if (path === '/moved') return { status: 302, headers: { Location: '/echo' }, body: '' };
  let text = '';
  for await (const chunk of body) text += new TextDecoder().decode(chunk);
  const grouped: Record<string, string[]> = {};
  for (const [name, value] of headers) {
    const key = name.toLowerCase();
    grouped[key] = [...(grouped[key] ?? []), value];
  }
  const url = query.size > 0 ? `${path}?${query}` : path;
  const echo: Echo = { method, url, headers: grouped, body: text };
  return { status: 202, headers: { 'X-Answer': 'yes' }, body: JSON.stringify(echo) };
}
