import { ipAddressErrors } from '../../base/ip-address.ts';
import { KeyedMutex } from '../../base/keyed-mutex.ts';
import {
  type ByteStream,
  type Connection,
  type DialTarget,
  type GrpcConnection,
  type GrpcRequest,
  type GrpcResponse,
  type HttpHandler,
  type HttpPool,
  type HttpRequest,
  type HttpResponse,
  type HttpServer,
  type Network,
  NetworkError,
  type SocketFile,
  type StreamServer,
  type UpgradedConnection,
  type UpgradeHandler,
  type UpgradeRequest,
  type WebSocketConnection,
  type WebSocketRequest,
} from '../network.ts';
import type { TcpAddress, TcpServer } from '../tcp-server.ts';
import type { TlsHandler, TlsServer, TlsServerSettings } from '../tls-server.ts';
import { Errno } from './errno.ts';
import { ErrorInjector } from './error-injector.ts';
import { listenerAddress } from './memory-address.ts';
import { byteStreamPair } from './memory-byte-stream.ts';
import { checkCertificate, type MemoryCertificate } from './memory-certificate.ts';
import { exchange, type MemoryHttpHandler, type MemoryRequest } from './memory-exchange.ts';
import type { MemoryFileSystem } from './memory-file-system.ts';
import { type MemoryUpgrades, memoryTlsService } from './memory-tls-server.ts';
import { openStreamUpgrade, openWebSocketUpgrade, respondToPlainRequest } from './memory-upgrades.ts';
import { webSocketPair } from './memory-web-socket.ts';
import { trackResponses } from './track-responses.ts';
import { unlessAborted } from './unless-aborted.ts';
import { withConnectDeadline } from './with-connect-deadline.ts';

/** A service at an address. Without a handler, connections are accepted and reset at the first byte. */
export interface MemoryService {
  readonly http?: MemoryHttpHandler;
  readonly webSocket?: MemoryWebSocketHandler;
  readonly grpc?: MemoryGrpcHandler;
  /** The handler of `serveUpgrades`. */
  readonly upgradeHandler?: UpgradeHandler;
  readonly stream?: (stream: ByteStream) => void;
  readonly upgrades?: MemoryUpgrades;
  /** If present, the service accepts only TLS. */
  readonly certificate?: MemoryCertificate;
}

/** A rejection resets the connection. */
export type MemoryGrpcHandler = (request: GrpcRequest & { readonly userAgent: string }) => Promise<GrpcResponse>;

export interface MemoryWebSocketHandler {
  /** The supported protocols. */
  readonly protocols: readonly string[];
  accept(connection: WebSocketConnection, request: WebSocketRequest): void;
}

type NetworkOperation = 'dial' | 'request' | 'webSocket' | 'upgrade' | 'grpc' | 'stream' | 'serve';

interface Listener {
  readonly service: MemoryService | 'blackHole';
  /** The inode of the socket file, if it has one. */
  readonly inode: number | undefined;
  readonly severed: AbortController;
}

/** In-memory addresses and socket files of one machine. */
export class MemoryNetwork implements Network {
  /** `errors.failNext('dial', 'EHOSTUNREACH', address?)`; addresses are `10.0.0.1:80` or a socket's path. */
  readonly errors = new ErrorInjector<NetworkOperation>();
  /** Addresses by host name; `localhost` is known. */
  readonly names = new Map<string, readonly [string, ...string[]]>([['localhost', ['127.0.0.1']]]);
  readonly #fs: MemoryFileSystem;
  readonly #listeners = new Map<string, Listener>();
  readonly #claims = new KeyedMutex();
  #nextPort = 40_000;

  constructor(fs: MemoryFileSystem) {
    this.#fs = fs;
  }

  /** Listens at a free address. Only `serve` creates a socket file. */
  listen(target: DialTarget, service: MemoryService = {}): { close(): void } {
    return this.#add(target, service);
  }

  /** Connections to the target stay pending until their signal aborts. */
  blackHole(target: DialTarget): { close(): void } {
    return this.#add(target, 'blackHole');
  }

  /** Ends all listeners on socket files without closing, as after `kill -9`: the files stay. */
  killServers(): void {
    for (const [address, listener] of this.#listeners) {
      if (!address.startsWith('/')) continue;
      this.#listeners.delete(address);
      sever(listener);
    }
  }

  async lookup(host: string, signal: AbortSignal): Promise<readonly [string, ...string[]]> {
    signal.throwIfAborted();
    const isAddress = ipAddressErrors(host).length === 0;
    const addresses = isAddress ? ([host] as const) : this.names.get(host);
    if (!addresses) throw new NetworkError('ENOTFOUND', `getaddrinfo ENOTFOUND ${host}`);
    return addresses;
  }

  async dial(target: DialTarget, signal: AbortSignal): Promise<Connection> {
    await this.#connect('dial', target, signal);
    return { close: () => {} };
  }

  async request(request: HttpRequest, signal: AbortSignal): Promise<HttpResponse> {
    const connecting = request.connectUntil === undefined ? signal : withConnectDeadline(signal, request.connectUntil);
    const target = await this.#resolveTarget(request, connecting);
    const { service, severed } = await this.#connect('request', target, connecting);
    checkCertificate(request, service.certificate);
    if (service.http === undefined) throw new NetworkError('ECONNRESET', 'read ECONNRESET');
    return exchange(request, service.http, { signal, severed });
  }

  pool(): HttpPool {
    const closed = new AbortController();
    return {
      request: (request, signal) => this.request(request, AbortSignal.any([signal, closed.signal])),
      [Symbol.dispose]: () => closed.abort(new NetworkError('EPIPE', 'the connections are closed')),
    };
  }

  async webSocket(request: WebSocketRequest, signal: AbortSignal): Promise<WebSocketConnection> {
    const { service, severed } = await this.#connect('webSocket', request.target, signal);
    if (service.upgradeHandler) return openWebSocketUpgrade(service.upgradeHandler, request, { signal, severed });
    const protocol = request.protocols.find((each) => service.webSocket?.protocols.includes(each));
    if (service.webSocket === undefined) throw new NetworkError('EPROTO', 'Unexpected server response: 404');
    if (protocol === undefined) throw new NetworkError('EPROTO', 'Server sent no subprotocol');
    const { client, server } = webSocketPair(protocol, signal, severed);
    service.webSocket.accept(server, request);
    return client;
  }

  async upgrade(request: UpgradeRequest, signal: AbortSignal): Promise<UpgradedConnection> {
    const { service, severed } = await this.#connect('upgrade', request.target, signal);
    if (service.upgrades) {
      checkCertificate(request, service.certificate);
      return service.upgrades(request, AbortSignal.any([signal, severed]));
    }
    if (!service.upgradeHandler) throw new NetworkError('EPROTO', 'unexpected response 404: ');
    return openStreamUpgrade(service.upgradeHandler, request, { signal, severed });
  }

  async serveUpgrades(handler: UpgradeHandler): Promise<TcpServer> {
    const http = async (request: MemoryRequest) => respondToPlainRequest(handler, request);
    return this.#listenAt({ host: '127.0.0.1', port: 0 }, { http, upgradeHandler: handler });
  }

  async serveTls(address: TcpAddress, serving: TlsServerSettings, handler: TlsHandler): Promise<TlsServer> {
    const service = memoryTlsService(serving, handler);
    return { ...this.#listenAt(address, service), updateSettings: service.updateSettings };
  }

  async serveTcp(address: TcpAddress, http: HttpHandler): Promise<TcpServer> {
    return this.#listenAt(address, { http });
  }

  async grpc(target: DialTarget, userAgent: string, signal: AbortSignal): Promise<GrpcConnection> {
    const { service, severed } = await this.#connect('grpc', target, signal);
    const { grpc } = service;
    if (grpc === undefined) throw new NetworkError('ECONNRESET', 'read ECONNRESET');
    const closed = new AbortController();
    return {
      call: async (request, until) => {
        const over = AbortSignal.any([until, severed, closed.signal]);
        const response = grpc({ ...request, userAgent }).catch((error: unknown) => {
          throw new NetworkError('ECONNRESET', 'read ECONNRESET', { cause: error });
        });
        return unlessAborted(response, over);
      },
      close: () => closed.abort(new NetworkError('ECONNRESET', 'the connection is closed')),
    };
  }

  async serve(address: SocketFile, handler: HttpHandler): Promise<HttpServer> {
    const { http, idle } = trackResponses(handler);
    const { close } = await this.#serve(address, { http });
    return { idle, close };
  }

  serveStream(address: SocketFile, accept: (stream: ByteStream) => void): Promise<StreamServer> {
    return this.#serve(address, { stream: accept });
  }

  async connectStream(target: DialTarget, signal: AbortSignal): Promise<ByteStream> {
    const { service, severed } = await this.#connect('stream', target, signal);
    if (service.stream === undefined) throw new NetworkError('ECONNRESET', 'read ECONNRESET');
    const [client, server] = byteStreamPair(severed);
    service.stream(server);
    return client;
  }

  /** Serialized: two servers must not replace the same stale socket. */
  #serve(address: SocketFile, service: MemoryService): Promise<{ close(): Promise<void> }> {
    return this.#claims.run(address.socketPath, () => this.#claim(address, service));
  }

  async #claim({ socketPath, mode }: SocketFile, service: MemoryService): Promise<{ close(): Promise<void> }> {
    this.#throwInjected('serve', socketPath);
    const old = await this.#fs.lstat(socketPath);
    if (old !== undefined) {
      const isTaken = old.kind !== 'socket' || this.#listeners.get(socketPath)?.inode === old.inode;
      if (isTaken) throw new NetworkError('EADDRINUSE', `another process listens on ${socketPath}`);
      await this.#fs.remove(socketPath);
    }
    this.#listeners.delete(socketPath); // it cannot be reached without its file
    const inode = this.#createSocket(socketPath, mode);
    const listener = this.#add({ socketPath }, service, inode);
    return {
      close: async () => {
        listener.close();
        const now = await this.#fs.lstat(socketPath);
        if (now?.inode === inode) await this.#fs.remove(socketPath);
      },
    };
  }

  #createSocket(socketPath: string, mode: number): number {
    try {
      return this.#fs.createSocket(socketPath, mode);
    } catch (error) {
      throw error instanceof Errno ? new NetworkError(error.code, `listen on ${socketPath}: ${error.code}`) : error;
    }
  }

  #listenAt({ host, port: asked }: TcpAddress, service: MemoryService): TcpServer {
    const port = asked || this.#nextPort++;
    const listener = this.#add({ host, port }, service);
    return { port, close: async () => listener.close() };
  }

  #add(target: DialTarget, service: MemoryService | 'blackHole', inode?: number): { close(): void } {
    const address = listenerAddress(target);
    if (this.#listeners.has(address)) throw new NetworkError('EADDRINUSE', `${address} is taken`);
    const listener = { service, inode, severed: new AbortController() };
    this.#listeners.set(address, listener);
    return {
      close: () => {
        if (this.#listeners.get(address) === listener) this.#listeners.delete(address);
        sever(listener);
      },
    };
  }

  /** The target of a request after its proxy, if any. */
  async #resolveTarget({ target, proxy }: HttpRequest, signal: AbortSignal): Promise<DialTarget> {
    if (proxy === undefined) return target;
    const { protocol, hostname, port } = new URL(proxy);
    const [host] = await this.lookup(hostname, signal);
    await this.#connect('request', { host, port: Number(port || (protocol === 'https:' ? 443 : 80)) }, signal);
    return 'host' in target ? { ...target, host: (await this.lookup(target.host, signal))[0] } : target;
  }

  async #connect(
    operation: Exclude<NetworkOperation, 'serve'>,
    target: DialTarget,
    signal: AbortSignal,
  ): Promise<{ readonly service: MemoryService; readonly severed: AbortSignal }> {
    signal.throwIfAborted();
    const address = listenerAddress(target);
    this.#throwInjected(operation, address);
    const listener = this.#listeners.get(address);
    const file = 'socketPath' in target ? await this.#fs.lstat(address) : undefined;
    // A listener of `serve` is found by its file; others have none.
    const isLost = listener?.inode !== undefined && listener.inode !== file?.inode;
    if (listener === undefined || isLost) {
      const code = 'socketPath' in target && file === undefined ? 'ENOENT' : 'ECONNREFUSED';
      throw new NetworkError(code, `connect ${code} ${address}`);
    }
    const { service, severed } = listener;
    if (service === 'blackHole') return unlessAborted(new Promise<never>(() => {}), signal);
    return { service, severed: severed.signal };
  }

  #throwInjected(operation: NetworkOperation, address: string): void {
    const code = this.errors.take(operation, address);
    if (code !== undefined) throw new NetworkError(code, `connect ${code} ${address}`);
  }
}

function sever({ severed }: Listener): void {
  severed.abort(new NetworkError('ECONNRESET', 'read ECONNRESET'));
}
