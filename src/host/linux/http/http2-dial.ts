import { type ClientRequest, request as httpRequest } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { isIP, type Socket } from 'node:net';
import { type ConnectionOptions, connect, type SecureContext, type TLSSocket } from 'node:tls';
import { type HttpRequest, NetworkError } from '../../network.ts';
import { requireIpAddress } from '../net/dial.ts';
import { asNetworkError } from '../net/network-error.ts';
import { serverIdentityOptions } from './http-request.ts';
import { secureContexts } from './tls-context.ts';

/** The key of a connection: requests that differ in any of it use different connections. */
export interface Http2Peer {
  readonly host: string;
  readonly port: number;
  /** The name that the certificate must have. */
  readonly name: string;
  readonly insecureSkipVerify: boolean;
  readonly proxy: string | undefined;
}

/** The peer of a request; `undefined` for a request that does not use HTTP/2. */
export function peerOf(request: HttpRequest): Http2Peer | undefined {
  const { target, scheme, mayMultiplex = false, bodyStream, tls, headers = [], insecureSkipVerify = false } = request;
  if (!mayMultiplex || scheme !== 'https' || bodyStream !== undefined || !('host' in target)) return undefined;
  const asked = headers.find(([name]) => name.toLowerCase() === 'host')?.[1];
  const name = tls?.serverName ?? (asked === undefined ? target.host : hostIn(asked));
  return { host: target.host, port: target.port, name, insecureSkipVerify, proxy: request.proxy };
}

/** `[::1]:6443` */
export function authorityOf(host: string, port: number): string {
  return isIP(host) === 6 ? `[${host}]:${port}` : `${host}:${port}`;
}

/** `::1` of `[::1]:6443`. */
function hostIn(authority: string): string {
  return authority.replace(/:\d+$/, '').replace(/^\[(.*)\]$/, '$1');
}

/** Resolves after the TLS handshake with ALPN; the caller closes the socket. */
export async function dialHttp2(
  peer: Http2Peer,
  secureContext: SecureContext | undefined,
  signal: AbortSignal,
): Promise<TLSSocket> {
  const { name, insecureSkipVerify, proxy } = peer;
  const route = proxy === undefined ? requireIpAddress(peer) : { socket: await tunnel(peer, proxy, signal) };
  return connectTls(
    {
      ...route,
      ALPNProtocols: ['h2', 'http/1.1'],
      rejectUnauthorized: !insecureSkipVerify,
      ...(secureContext && { secureContext }),
      ...serverIdentityOptions(name),
    },
    signal,
  );
}

function connectTls(options: ConnectionOptions, signal: AbortSignal): Promise<TLSSocket> {
  return new Promise((resolve, reject) => {
    const made = connect(options);
    const onAbort = (): void => {
      reject(signal.reason);
      made.destroy();
    };
    signal.addEventListener('abort', onAbort, { once: true });
    // Stays: the session reports later errors, and an unhandled one would end the process.
    made.on('error', (error) => reject(asHandshakeError(error)));
    made.once('close', () => reject(new NetworkError('ECONNRESET', 'the connection was closed')));
    made.once('secureConnect', () => resolve(made));
    for (const event of ['secureConnect', 'close']) {
      made.once(event, () => signal.removeEventListener('abort', onAbort));
    }
    if (signal.aborted) onAbort();
  });
}

/** With the code that HTTP/1.1 requests get for the same error. */
function asHandshakeError(error: Error): NetworkError {
  const networkError = asNetworkError(error);
  if (!networkError.code.startsWith('ERR_SSL_')) return networkError;
  return new NetworkError('EPROTO', networkError.message, { cause: error });
}

/** A connection to the server through the proxy, by CONNECT. */
function tunnel({ host, port }: Http2Peer, proxy: string, signal: AbortSignal): Promise<Socket> {
  return new Promise((resolve, reject) => {
    signal.throwIfAborted();
    const asked = connectRequest(authorityOf(host, port), new URL(proxy));
    const onAbort = (): void => {
      reject(signal.reason);
      asked.destroy();
    };
    signal.addEventListener('abort', onAbort, { once: true });
    asked.once('connect', ({ statusCode = 0 }, socket, head) => {
      signal.removeEventListener('abort', onAbort);
      socket.on('error', () => {}); // reported by the TLS socket on top of it
      if (head.length > 0) socket.unshift(head);
      if (statusCode >= 200 && statusCode <= 299) return resolve(socket as Socket); // of `net` or `tls`, both are a `Socket`
      socket.destroy();
      return reject(new NetworkError('ERR_PROXY_TUNNEL', `the proxy responded with status ${statusCode}`));
    });
    asked.on('error', (error) => reject(asNetworkError(error)));
    asked.once('close', () => {
      signal.removeEventListener('abort', onAbort);
      reject(new NetworkError('ECONNRESET', 'the proxy ended the connection without a response'));
    });
    asked.end();
  });
}

function connectRequest(authority: string, { protocol, hostname, port, username, password }: URL): ClientRequest {
  const secret = Buffer.from(`${decodeURIComponent(username)}:${decodeURIComponent(password)}`).toString('base64');
  const options = {
    host: hostname.replace(/^\[(.*)\]$/, '$1'),
    method: 'CONNECT',
    path: authority,
    headers: { Host: authority, ...(username !== '' && { 'Proxy-Authorization': `Basic ${secret}` }) },
    agent: false,
    ...(port !== '' && { port }),
  };
  if (protocol !== 'https:') return httpRequest(options);
  const [secureContext] = secureContexts(undefined);
  return httpsRequest({ ...options, ...{ secureContext } }); // supported by `tls`, but missing in the types of `https`
}
