import { ExpectedError } from '../base/expected-error.ts';
import type { TcpAddress, TcpServer } from './tcp-server.ts';
import type { TlsHandler, TlsServer, TlsServerSettings } from './tls-server.ts';

/** Sockets and HTTP, to an IP address or a socket file. Only `lookup` resolves names. */
export interface Network {
  /**
   * The addresses of a host, best first; an IP address resolves to itself. Rejects with a `NetworkError` (`ENOTFOUND`) for
   * an unknown name.
   */
  lookup(host: string, signal: AbortSignal): Promise<readonly [string, ...string[]]>;

  /** Resolves when the connection is established; the caller closes it. Rejects with a `NetworkError`. */
  dial(target: DialTarget, signal: AbortSignal): Promise<Connection>;

  /**
   * One HTTP/1.1 exchange on a new connection (no pool). Redirects are not followed. The signal also aborts a body that is
   * being read. The connection is closed when the body is read or abandoned, or the signal aborts.
   */
  request(request: HttpRequest, signal: AbortSignal): Promise<HttpResponse>;

  /** A client that reuses connections for consecutive exchanges. Opens no connection yet. */
  pool(): HttpPool;

  /**
   * A WebSocket client connection; rejects with a `NetworkError` when the server accepts none of `protocols`. The signal
   * also closes an established connection.
   */
  webSocket(request: WebSocketRequest, signal: AbortSignal): Promise<WebSocketConnection>;

  /**
   * Serves upgraded connections, WebSockets or byte streams, on a free port of 127.0.0.1; the handler decides on each
   * request before its handshake.
   */
  serveUpgrades(handler: UpgradeHandler): Promise<TcpServer>;

  /**
   * Requests an upgrade to a byte stream. Rejects with an `UpgradeRejectedError` when the server does not respond with 101.
   * The signal also closes an established connection.
   */
  upgrade(request: UpgradeRequest, signal: AbortSignal): Promise<UpgradedConnection>;

  /**
   * A clear-text gRPC connection for a few calls. Resolves when the server has sent its HTTP/2 preface; rejects with a
   * `NetworkError`. The caller closes it; the signal aborts only the connect.
   */
  grpc(target: DialTarget, userAgent: string, signal: AbortSignal): Promise<GrpcConnection>;

  /**
   * Serves HTTP on a socket file with this `mode`. Resolves when it listens, rejects with `EADDRINUSE` when another process
   * listens there; a stale socket file is replaced. Closing ends open connections at once and removes the file.
   */
  serve(address: SocketFile, handler: HttpHandler): Promise<HttpServer>;

  /** Serves HTTP on an address of this machine. Resolves when it listens; rejects with a `NetworkError`. */
  serveTcp(address: TcpAddress, handler: HttpHandler): Promise<TcpServer>;

  /** Serves HTTPS on the network. Resolves when it listens; rejects with a `NetworkError`. */
  serveTls(address: TcpAddress, serving: TlsServerSettings, handler: TlsHandler): Promise<TlsServer>;

  /** Serves byte streams on a socket file. `accept` owns each connection and closes it. */
  serveStream(address: SocketFile, accept: (stream: ByteStream) => void): Promise<StreamServer>;

  /** Connects to `serveStream`. Resolves when the connection is established; the signal aborts only the connect. */
  connectStream(target: DialTarget, signal: AbortSignal): Promise<ByteStream>;
}

/** The client half of `Network`. */
export type NetworkClient = Pick<Network, 'lookup' | 'dial' | 'request' | 'grpc'>;

export interface SocketFile {
  readonly socketPath: string;
  readonly mode: number;
}

export type DialTarget = { readonly host: string; readonly port: number } | { readonly socketPath: string };

export interface Connection {
  close(): void;
}

/** A bidirectional byte stream. */
export interface ByteStream {
  /**
   * In order, split anywhere, read once; ends when the other side has ended its writing, or either side has closed, also by
   * an error. Our side stays open for writing until `end` or `close`. A slow reader slows the sender down.
   */
  readonly chunks: AsyncIterable<Uint8Array>;
  /** Resolves when the kernel has all of it; rejects with a `NetworkError` when the connection is closed. */
  write(data: Uint8Array): Promise<void>;
  /** Ends our writing; the other side is still read. Idempotent, also after `close`. */
  end(): void;
  /** Closes both directions; data in flight may be lost. */
  close(): void;
}

export interface StreamServer {
  /** Ends open connections and removes the file. */
  close(): Promise<void>;
}

export interface HttpRequest {
  readonly target: DialTarget;
  readonly scheme?: 'http' | 'https';
  /** HTTPS without verifying the certificate, as probes do. */
  readonly insecureSkipVerify?: boolean;
  readonly tls?: TlsSettings;
  /** Aborts the request while it has no connection; has no effect afterwards. */
  readonly connectUntil?: AbortSignal;
  /**
   * For a pool: the request is retried when a kept connection turns out to be closed, although the server may have handled
   * it. Absent: only for a GET.
   */
  readonly isRepeatable?: boolean;
  /**
   * For a pool, with `https`: uses HTTP/2 where the server supports it, so that concurrent exchanges share one connection.
   * Absent: HTTP/1.1. A `bodyStream` always uses HTTP/1.1.
   */
  readonly mayMultiplex?: boolean;
  /** For a pool: the `http://` or `https://` address of a proxy, which then resolves names. */
  readonly proxy?: string;
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** With the query. */
  readonly path: string;
  /** A `Host` header here replaces the default one. */
  readonly headers?: ReadonlyArray<readonly [name: string, value: string]>;
  readonly body?: string | Uint8Array;
  /**
   * Replaces `body` for content that does not fit into memory: read as fast as the server accepts it, and abandoned when the
   * server has responded. If it throws, the connection is closed and the request rejects with the same error.
   */
  readonly bodyStream?: AsyncIterable<Uint8Array>;
}

/** All in PEM. */
export interface TlsSettings {
  /** Trusted in addition to the machine's. */
  readonly authorities?: readonly string[];
  /** Only `authorities` are trusted, not the machine's. */
  readonly isExclusive?: boolean;
  /** The name that the certificate must have; absent: the host of the `Host` header, or the address. */
  readonly serverName?: string;
  /** Tried in order until the server accepts one. */
  readonly clientCertificates?: ReadonlyArray<{ readonly certificate: string; readonly key: string }>;
}

export interface HttpPool extends Disposable {
  /**
   * As `Network.request`, on an idle connection to the same target with the same TLS settings where there is one. Exchanges
   * that share a connection are independent: aborting one, or reading it slowly, does not affect the others. A request that
   * the server reports as not processed is always retried.
   */
  request(request: HttpRequest, signal: AbortSignal): Promise<HttpResponse>;
  /** Closes all connections, also those in use. Idempotent; later requests are rejected. */
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
  /** Resolves when the kernel has the message, which gives backpressure. A string is sent as a text message. */
  send(message: Uint8Array | string): Promise<void>;
  /**
   * Resolves when the connection has ended, from either side or by an error, also while messages are unread. While the
   * sender is paused, its end is noticed only when the reader continues or a message is sent.
   */
  readonly closed: Promise<void>;
  close(): void;
}

/** A request to the upgrade server. */
export interface IncomingUpgrade {
  readonly path: string;
  readonly query: URLSearchParams;
  /** The `Upgrade` header: `websocket`, `SPDY/3.1`, … Empty for a plain HTTP request. */
  readonly upgrade: string;
  /** From `Sec-WebSocket-Protocol`, or `X-Stream-Protocol-Version` for SPDY. In the client's order. */
  readonly protocols: readonly string[];
}

export type UpgradeDecision =
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
      /** Owns the connection and handles its errors. */
      serve(connection: WebSocketConnection): void;
    }
  | {
      /** Status 101 with the client's `Upgrade`, then bytes; the first ones may have come with the request. */
      readonly kind: 'stream';
      readonly headers?: ReadonlyArray<readonly [name: string, value: string]>;
      serve(stream: ByteStream): void;
    };

/** Decides on every request. A decision that does not match the request becomes a 400. */
export type UpgradeHandler = (offer: IncomingUpgrade) => UpgradeDecision;

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
  /** Of the response, lower-case names. */
  readonly headers: Readonly<Record<string, string>>;
  readonly stream: ByteStream;
}

export interface GrpcConnection {
  /** Resolves with any response of the server; rejects with a `NetworkError` or with the signal's reason. */
  call(request: GrpcRequest, signal: AbortSignal): Promise<GrpcResponse>;
  close(): void;
}

export interface GrpcRequest {
  /** `/grpc.health.v1.Health/Check` */
  readonly path: string;
  readonly message: Uint8Array;
  /** Sent as `grpc-timeout`. */
  readonly timeoutMs: number;
}

export interface GrpcResponse {
  /** gRPC's status code; 0 is OK. */
  readonly code: number;
  /** The server's status message of a code that is not 0. */
  readonly details: string;
  /** Empty in a response without a message. */
  readonly message: Uint8Array;
}

export interface ServerRequest {
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  /** The query as the client sent it, without the question mark. */
  readonly rawQuery: string;
  /** Throws when the client disconnects. A handler may respond without reading it to the end. */
  readonly body: AsyncIterable<Uint8Array>;
  /** Aborts when the client disconnects. */
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
  /** Resolves when every response is sent, also those of requests that arrive meanwhile. */
  idle(): Promise<void>;
  close(): Promise<void>;
}

export class NetworkError extends ExpectedError {
  override readonly name = 'NetworkError';
  /** `ECONNREFUSED`, `ETIMEDOUT`, `EADDRINUSE`, … */
  readonly code: string;

  constructor(code: string, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}
