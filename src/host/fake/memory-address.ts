import { type DialTarget, NetworkError } from '../network.ts';

/** How a listener in memory is found. */
export function listenerAddress(target: DialTarget): string {
  if ('socketPath' in target) return target.socketPath;
  const isAddress = /^[\d.]+$/.test(target.host) || target.host.includes(':');
  if (!isAddress) throw new NetworkError('ENOTFOUND', `${target.host} is not an IP address`);
  return target.host.includes(':') ? `[${target.host}]:${target.port}` : `${target.host}:${target.port}`;
}
