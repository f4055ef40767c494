import type { ByteStream, ServerRequest, ServerResponse } from './network.ts';
import type { TcpServer } from './tcp-server.ts';

/** The TLS settings of a server. Certificates and keys are PEM. */
export interface TlsServerSettings {
  /** Absent: no handshake succeeds. */
  readonly identity?: { readonly certificate: string; readonly key: string };
  /** Authorities that sign client certificates. Absent: clients are not asked for a certificate. */
  readonly clientAuthorities?: readonly string[];
  /** Absent: TLS 1.2. */
  readonly minVersion?: TlsVersion;
  /** Of TLS 1.2, with Go's names (`TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256`); absent: the safe ones. */
  readonly cipherSuites?: readonly string[];
  /** Key exchanges by their numbers in TLS (29: X25519); absent: those of OpenSSL. */
  readonly curves?: readonly number[];
}

export type TlsVersion = 'TLSv1' | 'TLSv1.1' | 'TLSv1.2' | 'TLSv1.3';

/** The identity of the client, as of the handshake. */
export type TlsClient =
  | { readonly kind: 'none' }
  /** Its certificate is signed by no client authority, or is expired or not yet valid. */
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
  /** The `Upgrade` header: `websocket`, `SPDY/3.1`, … Empty for a plain HTTP request. */
  readonly upgrade: string;
}

/** Status 101 with these headers, then bytes; the first ones may have come with the request. */
export interface StreamResponse {
  readonly headers: ReadonlyArray<readonly [name: string, value: string]>;
  /** Owns the stream and handles its errors. */
  serve(stream: ByteStream): void;
}

/** `stream` is valid only for a request with an `Upgrade` header. */
export type TlsResponse =
  | { readonly kind: 'response'; readonly response: ServerResponse }
  | { readonly kind: 'stream'; readonly stream: StreamResponse };

/** A rejection becomes a 500 with the error's text. */
export type TlsHandler = (request: TlsRequest) => Promise<TlsResponse>;

export interface TlsServer extends TcpServer {
  /**
   * Applies from the next handshake on; open connections continue. Throws a `NetworkError` for invalid settings and keeps the
   * old ones. Whether clients are asked for certificates cannot be changed.
   */
  updateSettings(serving: TlsServerSettings): void;
}
