import { type DialTarget, NetworkError } from '../network.ts';

/** The key of a listener: `10.0.0.1:80` or a socket's path. */
export function listenerAddress(target: DialTarget): string {
  if ('socketPath' in target) return target.socketPath;
  const isAddress = /^[\d.]+$/.test(target.host) || target.host.includes(':');
  if (!isAddress) throw new NetworkError('ENOTFOUND', `${target.host} is not an IP address`);
  return target.host.includes(':') ? `[${target.host}]:${target.port}` : `${target.host}:${target.port}`;
}
