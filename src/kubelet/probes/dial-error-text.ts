import { errorText } from '../../base/error-text.ts';
import { NetworkError } from '../../host/network.ts';

/** What Go says of a connection that did not come to stand. */
const CONNECT_TEXTS: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'connect: connection refused',
  EHOSTUNREACH: 'connect: no route to host',
  ENETUNREACH: 'connect: network is unreachable',
  EADDRNOTAVAIL: 'connect: cannot assign requested address',
  ETIMEDOUT: 'connect: connection timed out',
};

/** What Go says of a connection that broke. */
const BROKEN_TEXTS: Readonly<Record<string, string>> = {
  ECONNRESET: 'read: connection reset by peer',
  EPIPE: 'write: broken pipe',
};

/** A failure to reach `address` (`10.0.0.1:80`), in the words of kubelet. */
export function dialErrorText(error: unknown, address: string): string {
  if (!(error instanceof NetworkError)) return errorText(error);
  const connect = CONNECT_TEXTS[error.code];
  if (connect !== undefined) return `dial tcp ${address}: ${connect}`;
  if (error.code === 'ENOTFOUND') return `dial tcp: lookup ${address.replace(/:\d+$/, '')}: no such host`;
  if (error.message === 'socket hang up') return 'EOF';
  if (error.message.includes('wrong version number')) return 'http: server gave HTTP response to HTTPS client';
  return BROKEN_TEXTS[error.code] ?? error.message;
}

/** `10.0.0.1:80`, `[fd00::1]:80` */
export function hostPort(host: string, port: number): string {
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
}
