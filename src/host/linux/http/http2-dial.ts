import { type ClientRequest, request as httpRequest } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { isIP, type Socket } from 'node:net';
import { type ConnectionOptions, connect, type SecureContext, type TLSSocket } from 'node:tls';
import { type HttpRequest, NetworkError } from '../../network.ts';
import { addressOf } from '../net/dial.ts';
import { asNetworkError } from '../net/network-error.ts';
import { meantAs } from './http-request.ts';
import { secureContexts } from './tls-context.ts';

/** Whom a connection is made to, and how: requests that differ in any of it have connections of their own. */
export interface Http2Peer {
  readonly host: string;
  readonly port: number;
  /** Whose certificate it has to be. */
  readonly name: string;
  readonly insecureSkipVerify: boolean;
  readonly proxy: string | undefined;
}

/** Of one request; `undefined` for one that HTTP/2 does not carry. */
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

/** `[::1]:6443` is `::1`. */
function hostIn(authority: string): string {
  return authority.replace(/:\d+$/, '').replace(/^\[(.*)\]$/, '$1');
}

/** Resolves when the server has shown who it is and which protocol it takes; the caller closes it. */
export async function dialHttp2(
  peer: Http2Peer,
  secureContext: SecureContext | undefined,
  signal: AbortSignal,
): Promise<TLSSocket> {
  const { name, insecureSkipVerify, proxy } = peer;
  const way = proxy === undefined ? addressOf(peer) : { socket: await tunnel(peer, proxy, signal) };
  return secured(
    {
      ...way,
      ALPNProtocols: ['h2', 'http/1.1'],
      rejectUnauthorized: !insecureSkipVerify,
      ...(secureContext && { secureContext }),
      ...meantAs(name),
    },
    signal,
  );
}

function secured(options: ConnectionOptions, signal: AbortSignal): Promise<TLSSocket> {
  return new Promise((resolve, reject) => {
    const made = connect(options);
    const onAbort = (): void => {
      reject(signal.reason);
      made.destroy();
    };
    signal.addEventListener('abort', onAbort, { once: true });
    // Stays: a failure afterwards is told by the session, and must not end the process.
    made.on('error', (error) => reject(handshakeFailure(error)));
    made.once('close', () => reject(new NetworkError('ECONNRESET', 'the connection was closed')));
    made.once('secureConnect', () => resolve(made));
    for (const event of ['secureConnect', 'close']) {
      made.once(event, () => signal.removeEventListener('abort', onAbort));
    }
    if (signal.aborted) onAbort();
  });
}

/** Under the name that it has where a request waits to be written, as with HTTP/1.1. */
function handshakeFailure(error: Error): NetworkError {
  const failure = asNetworkError(error);
  return failure.code.startsWith('ERR_SSL_') ? new NetworkError('EPROTO', failure.message, { cause: error }) : failure;
}

/** A connection to the server that the proxy has made for us. */
function tunnel({ host, port }: Http2Peer, proxy: string, signal: AbortSignal): Promise<Socket> {
  return new Promise((resolve, reject) => {
    signal.throwIfAborted();
    const asked = askProxy(authorityOf(host, port), new URL(proxy));
    const onAbort = (): void => {
      reject(signal.reason);
      asked.destroy();
    };
    signal.addEventListener('abort', onAbort, { once: true });
    asked.once('connect', ({ statusCode = 0 }, socket, head) => {
      signal.removeEventListener('abort', onAbort);
      socket.on('error', () => {}); // told by what is made of it
      if (head.length > 0) socket.unshift(head);
      if (statusCode >= 200 && statusCode <= 299) return resolve(socket as Socket); // of `net` or `tls`, both of which are one
      socket.destroy();
      return reject(new NetworkError('ERR_PROXY_TUNNEL', `the proxy answered ${statusCode}`));
    });
    asked.on('error', (error) => reject(asNetworkError(error)));
    asked.once('close', () => {
      signal.removeEventListener('abort', onAbort);
      reject(new NetworkError('ECONNRESET', 'the proxy ended the connection without an answer'));
    });
    asked.end();
  });
}

function askProxy(authority: string, { protocol, hostname, port, username, password }: URL): ClientRequest {
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
  return httpsRequest({ ...options, ...{ secureContext } }); // `tls` takes it, the type of `https` does not know
}
