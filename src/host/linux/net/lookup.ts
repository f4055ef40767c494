import { lookup as lookupName } from 'node:dns/promises';
import { isIP } from 'node:net';
import { abortable } from '../../../base/abortable.ts';
import { NetworkError } from '../../network.ts';
import { asNetworkError } from './network-error.ts';

/** Resolves names by getaddrinfo(3): /etc/hosts, then DNS. */
export async function lookup(host: string, signal: AbortSignal): Promise<readonly [string, ...string[]]> {
  if (isIP(host) !== 0) return [host];
  try {
    const found = await abortable(lookupName(host, { all: true }), signal);
    const [first, ...more] = found.map(({ address }) => address);
    if (first !== undefined) return [first, ...more];
  } catch (error) {
    signal.throwIfAborted();
    throw asNetworkError(error);
  }
  throw new NetworkError('ENOTFOUND', `${host} has no address`);
}
