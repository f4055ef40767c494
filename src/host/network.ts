import type { TcpAddress, TcpServer } from './tcp-server.ts';
import type { TlsHandler, TlsServer, TlsServing } from './tls-server.ts';

/** Sockets and HTTP. TCP to an address or a socket file; no name is ever looked up behind the caller's back. */
export interface Network {
  /**
   * The addresses of a host, best first; an address is its own. Rejects with a `NetworkError` (`ENOTFOUND`) for a name
   * that nobody knows.
   */
  lookup(host: string, signal: AbortSignal): Promise<readonly [string, ...string[]]>;

  /** Resolves when the connection stands; the caller closes it. Rejects with a `NetworkError`. */
  dial(target: DialTarget, signal: AbortSignal): Promise<Connection>;

  /**
   * One HTTP/1.1 exchange on a connection of its own (no pool). Redirects are answers. The signal also ends a body
   * that is still being read. The connection stands until the body is read, or left, or the signal aborts.
   */
  request(request: HttpRequest, signal: AbortSignal): Promise<HttpResponse>;

  /** The same for who has many questions: exchanges that follow each other share connections. Nothing is opened yet. */
  pool(): HttpPool;

  /**
   * A WebSocket client connection; rejects with a `NetworkError` when the server does not take one of `protocols`. The
   * signal also ends a connection that stands.
   */
  webSocket(request: WebSocketRequest, signal: AbortSignal): Promise<WebSocketConnection>;

  /**
   * Serves connections that become something else than HTTP, WebSockets or streams of bytes, on a free port of 127.0.0.1;
   * each request is decided on before its handshake.
   */
  serveUpgrades(handler: UpgradeHandler): Promise<TcpServer>;

  /**
   * The other side of it for what is no WebSocket: asks for an upgrade and gives out the connection. Rejects with a
   * `UpgradeRefused` when the server does not answer 101. The signal also ends what stands.
   */
  upgrade(request: UpgradeRequest, signal: AbortSignal): Promise<UpgradedConnection>;

  /**
   * A gRPC connection in clear text, for a few calls. Resolves when the server has shown that it speaks HTTP/2; rejects
   * with a `NetworkError`. The caller closes it; the signal ends only the connecting.
   */
  grpc(target: DialTarget, userAgent: string, signal: AbortSignal): Promise<GrpcConnection>;

  /**
   * Serves HTTP on a socket file that only `mode` lets others open. Resolves when it listens, rejects with
   * `EADDRINUSE` when another process answers there; a socket file that nobody listens on any more is replaced.
   * Closing waits for nothing: it ends open connections and removes the file.
   */
  serve(address: SocketFile, handler: HttpHandler): Promise<HttpServer>;

  /** Serves HTTP on an address of this machine. Resolves when it listens; rejects with a `NetworkError`. */
  serveTcp(address: TcpAddress, handler: HttpHandler): Promise<TcpServer>;

  /** Serves HTTPS to others on the network. Resolves when it listens; rejects with a `NetworkError`. */
  serveTls(address: TcpAddress, serving: TlsServing, handler: TlsHandler): Promise<TlsServer>;

  /** The same for whatever is no HTTP: each connection is handed over as bytes. Who accepts one closes it. */
  serveStream(address: SocketFile, accept: (stream: ByteStream) => void): Promise<StreamServer>;

  /** The other side of `serveStream`. Resolves when the connection stands; the signal ends only the connecting. */
  connectStream(target: DialTarget, signal: AbortSignal): Promise<ByteStream>;
}

/** For whoever only asks others. */
export type NetworkClient = Pick<Network, 'lookup' | 'dial' | 'request' | 'grpc'>;

export interface SocketFile {
  readonly socketPath: string;
  readonly mode: number;
}

export type DialTarget = { readonly host: string; readonly port: number } | { readonly socketPath: string };

export interface Connection {
  close(): void;
}

/** Bytes both ways. */
export interface ByteStream {
  /**
   * In order, cut anyhow, read once; ends when the other side writes no more or either side has closed, however that came
   * about. Our side stays open for writing until `end` or `close`. A slow reader slows the sender down.
   */
  readonly chunks: AsyncIterable<Uint8Array>;
  /** Resolves when all of it is handed to the kernel; rejects with a `NetworkError` when the connection is gone. */
  write(data: Uint8Array): Promise<void>;
  /** Nothing more is written; what the other side sends is still read. Safe to repeat, and when all is over. */
  end(): void;
  /** Both ways at once; what was written and not read may be lost. */
  close(): void;
}

export interface StreamServer {
  /** Ends open connections and removes the file. */
  close(): Promise<void>;
}

export interface HttpRequest {
  readonly target: DialTarget;
  readonly scheme?: 'http' | 'https';
  /** HTTPS without looking at the certificate, as probes do it. */
  readonly insecureSkipVerify?: boolean;
  readonly tls?: TlsSettings;
  /** Ends what has no connection by then; of no consequence afterwards. */
  readonly connectUntil?: AbortSignal;
  /**
   * For a pool: to be asked again where a kept connection turns out to be gone, though it may have been heard. Absent: only
   * a GET is.
   */
  readonly isRepeatable?: boolean;
  /**
   * For a pool, with `https`: by HTTP/2 where the server takes it, so that many exchanges share one connection at the same
   * time. Absent: by HTTP/1.1. A `bodyStream` goes by HTTP/1.1 in any case.
   */
  readonly mayMultiplex?: boolean;
  /** For a pool: an `http://` or `https://` address to go through; names are then the proxy's to look up. */
  readonly proxy?: string;
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** With the query. */
  readonly path: string;
  /** `Host` is taken from here when it is set. */
  readonly headers?: ReadonlyArray<readonly [name: string, value: string]>;
  readonly body?: string | Uint8Array;
  /**
   * In place of `body`, for what does not fit into memory: read as fast as the other side takes it, and left when that has
   * answered. Where it throws, the connection is broken off and the request rejects with what was thrown.
   */
  readonly bodyStream?: AsyncIterable<Uint8Array>;
}

/** All in PEM. */
export interface TlsSettings {
  /** Trusted beside those of the machine. */
  readonly authorities?: readonly string[];
  /** Only `authorities` are trusted, and not those of the machine. */
  readonly isExclusive?: boolean;
  /** Whose certificate it has to be; absent: that of the host of the header `Host`, or of the address. */
  readonly serverName?: string;
  /** Who we are; tried in order until the server takes one. */
  readonly clientCertificates?: ReadonlyArray<{ readonly certificate: string; readonly key: string }>;
}

export interface HttpPool extends Disposable {
  /**
   * As `Network.request`, on a connection to the same target with the same TLS settings whose last answer was read to its
   * end, where there is one. Where exchanges share a connection, one that ends early ends alone, and one that is read slowly
   * holds up no other. What the server says it has not heard is asked again, whatever it is.
   */
  request(request: HttpRequest, signal: AbortSignal): Promise<HttpResponse>;
  /** Ends all connections, also those in use. Safe to repeat; nothing is asked afterwards. */
  [Symbol.dispose](): void;
}

export interface HttpResponse {
  readonly status: number;
  /** Lower-case names. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: AsyncIterable<Uint8Array>;
}

export interface WebSocketRequest {
  readonly target: DialTarget;
  readonly path: string;
  /** In order of preference: `v5.channel.k8s.io`, … */
  readonly protocols: readonly string[];
}

export interface WebSocketConnection {
  readonly protocol: string;
  /** Whole messages, in order, read once; ends when either side closes. A slow reader slows the sender down. */
  readonly messages: AsyncIterable<Uint8Array>;
  /** Resolves when the message is handed to the kernel: the way to wait for a slow reader. A string goes as text. */
  send(message: Uint8Array | string): Promise<void>;
  /**
   * Resolves when the connection has ended, from either side or by a failure, also while there is more to read. Of a
   * sender who is made to wait it is known only when the reader goes on, or something is sent.
   */
  readonly closed: Promise<void>;
  close(): void;
}

/** Somebody asks for a path of ours, most likely to make something else of the connection. */
export interface UpgradeOffer {
  readonly path: string;
  readonly query: URLSearchParams;
  /** What the connection is to become: `websocket`, `SPDY/3.1`, … Empty for a plain HTTP request. */
  readonly upgrade: string;
  /** Of a WebSocket (`Sec-WebSocket-Protocol`), or of what is carried in SPDY (`X-Stream-Protocol-Version`). In the client's order. */
  readonly protocols: readonly string[];
}

export type UpgradeVerdict =
  | {
      readonly kind: 'refuse';
      readonly status: number;
      readonly message: string;
      readonly headers?: ReadonlyArray<readonly [name: string, value: string]>;
    }
  | {
      readonly kind: 'webSocket';
      /** One that the client offers; empty for a client that offers none. */
      readonly protocol: string;
      /** Owns the connection from here on, and its own failures. */
      serve(connection: WebSocketConnection): void;
    }
  | {
      /** Status 101 with `Upgrade` as the client asked for it; then bytes, the first of which may have come with the request. */
      readonly kind: 'stream';
      readonly headers?: ReadonlyArray<readonly [name: string, value: string]>;
      serve(stream: ByteStream): void;
    };

/** Asked for every request. Who accepts what the client did not ask for makes it see a 400. */
export type UpgradeHandler = (offer: UpgradeOffer) => UpgradeVerdict;

export interface UpgradeRequest {
  readonly target: DialTarget;
  readonly scheme?: 'http' | 'https';
  readonly tls?: TlsSettings;
  readonly method: 'GET' | 'POST';
  /** With the query. */
  readonly path: string;
  /** `SPDY/3.1` */
  readonly upgrade: string;
  readonly headers?: ReadonlyArray<readonly [name: string, value: string]>;
}

export interface UpgradedConnection {
  /** Of the answer, lower-case names. */
  readonly headers: Readonly<Record<string, string>>;
  readonly stream: ByteStream;
}

export interface GrpcConnection {
  /** Whatever the server answers; rejects with a `NetworkError` when it does not, or with the signal's reason. */
  call(request: GrpcRequest, signal: AbortSignal): Promise<GrpcAnswer>;
  close(): void;
}

export interface GrpcRequest {
  /** `/grpc.health.v1.Health/Check` */
  readonly path: string;
  readonly message: Uint8Array;
  /** What the server is told of how long anybody waits for it. */
  readonly timeoutMs: number;
}

export interface GrpcAnswer {
  /** gRPC's status code; 0 means that all went well. */
  readonly code: number;
  /** What the server says of a code that is not 0. */
  readonly details: string;
  /** Empty when there is none. */
  readonly message: Uint8Array;
}

export interface ServerRequest {
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  /** Throws where it breaks off. Who leaves it before its end can still answer. */
  readonly body: AsyncIterable<Uint8Array>;
  /** Aborts when the client is gone. */
  readonly signal: AbortSignal;
}

export interface ServerResponse {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body: string | AsyncIterable<string | Uint8Array>;
}

/** A rejection becomes a 500 with the error's text. */
export type HttpHandler = (request: ServerRequest) => Promise<ServerResponse>;

export interface HttpServer {
  /** Resolves when every answer is sent to its end; also waits for those who come meanwhile. */
  idle(): Promise<void>;
  close(): Promise<void>;
}

export class NetworkError extends Error {
  override readonly name = 'NetworkError';
  /** `ECONNREFUSED`, `ETIMEDOUT`, `EADDRINUSE`, … */
  readonly code: string;

  constructor(code: string, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}
