import type { ByteStream, ServerRequest, ServerResponse } from './network.ts';
import type { TcpServer } from './tcp-server.ts';

/** What a server shows and asks for in a handshake. All of it in PEM. */
export interface TlsServing {
  /** Absent: no handshake succeeds. */
  readonly identity?: { readonly certificate: string; readonly key: string };
  /** Who vouches for clients. Absent: no client is asked for a certificate. */
  readonly clientAuthorities?: readonly string[];
  /** Absent: TLS 1.2. */
  readonly minVersion?: TlsVersion;
  /** Of TLS 1.2, as Go names them (`TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256`); absent: what is held to be safe. */
  readonly cipherSuites?: readonly string[];
}

export type TlsVersion = 'TLSv1' | 'TLSv1.1' | 'TLSv1.2' | 'TLSv1.3';

/** Who the client has shown itself to be, when the connection was made. */
export type TlsClient =
  | { readonly kind: 'none' }
  /** It has a certificate that nobody vouches for, or that is not of its time. */
  | { readonly kind: 'untrusted'; readonly reason: string }
  | {
      readonly kind: 'known';
      /** Empty where the certificate has none. */
      readonly commonName: string;
      readonly organizations: readonly string[];
      /** SHA-256 of the certificate, in lower-case hexadecimal digits. */
      readonly fingerprint: string;
    };

export interface TlsRequest extends ServerRequest {
  /** Lower-case names; the values of one name are joined by `, `. */
  readonly headers: Readonly<Record<string, string>>;
  readonly client: TlsClient;
  /** What the connection is to become: `websocket`, `SPDY/3.1`, … Empty for a plain HTTP request. */
  readonly upgrade: string;
}

/** Status 101 with these headers, then bytes, the first of which may have come with the request. */
export interface StreamAnswer {
  readonly headers: ReadonlyArray<readonly [name: string, value: string]>;
  /** Owns the stream from here on, and its own failures. */
  serve(stream: ByteStream): void;
}

/** A stream is an answer only to who asks for an upgrade. */
export type TlsAnswer =
  | { readonly kind: 'response'; readonly response: ServerResponse }
  | { readonly kind: 'stream'; readonly stream: StreamAnswer };

/** A rejection becomes a 500 with the error's text. */
export type TlsHandler = (request: TlsRequest) => Promise<TlsAnswer>;

export interface TlsServer extends TcpServer {
  /**
   * From the next handshake on; connections that stand go on. Throws a `NetworkError`, and nothing has changed, when it
   * makes no sense. Whether clients are asked for certificates stays as it was at the start.
   */
  renew(serving: TlsServing): void;
}
