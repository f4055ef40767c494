import { errorText } from '../../base/error-text.ts';
import { NetworkError } from '../../host/network.ts';

/** Go's texts for a connection that could not be opened. */
const CONNECT_TEXTS: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'connect: connection refused',
  EHOSTUNREACH: 'connect: no route to host',
  ENETUNREACH: 'connect: network is unreachable',
  EADDRNOTAVAIL: 'connect: cannot assign requested address',
  ETIMEDOUT: 'connect: connection timed out',
};

/** Go's texts for a broken connection. */
const BROKEN_TEXTS: Readonly<Record<string, string>> = {
  ECONNRESET: 'read: connection reset by peer',
  EPIPE: 'write: broken pipe',
};

/** kubelet's text for an error of a connection to `address` (`10.0.0.1:80`). */
export function dialErrorText(error: unknown, address: string): string {
  if (!(error instanceof NetworkError)) return errorText(error);
  const connect = CONNECT_TEXTS[error.code];
  if (connect !== undefined) return `dial tcp ${address}: ${connect}`;
  if (error.code === 'ENOTFOUND') return `dial tcp: lookup ${address.replace(/:\d+$/, '')}: no such host`;
  if (error.message === 'socket hang up') return 'EOF';
  if (isPlainHttpResponse(error)) return 'http: server gave HTTP response to HTTPS client';
  return BROKEN_TEXTS[error.code] ?? error.message;
}

/** Whether a TLS connection failed because the server speaks plain HTTP: OpenSSL reports a wrong TLS version. */
export function isPlainHttpResponse(error: unknown): boolean {
  return error instanceof NetworkError && error.message.includes('wrong version number');
}

/** `10.0.0.1:80`, `[fd00::1]:80` */
export function hostPort(host: string, port: number): string {
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
}
