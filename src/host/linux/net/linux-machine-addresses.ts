import { readFileSync } from 'node:fs';
import { networkInterfaces } from 'node:os';
import type { MachineAddresses } from '../../machine-addresses.ts';
import { defaultRouteInterface } from '../proc/read-machine-facts.ts';

export const linuxMachineAddresses: MachineAddresses = {
  all: () => Object.values(networkInterfaces()).flatMap((each) => (each ?? []).map(({ address }) => address)),
  primary(family) {
    const first =
      family === 4
        ? defaultRouteInterface(readTextIfExists('/proc/net/route'))
        : defaultRouteInterfaceV6(readTextIfExists('/proc/net/ipv6_route'));
    return Object.entries(networkInterfaces())
      .sort(([a], [b]) => Number(b === first) - Number(a === first))
      .flatMap(([, each]) => each ?? [])
      .find((each) => !each.internal && each.family === `IPv${family}` && !isLinkLocal(each.address))?.address;
  },
};

/** The interface of the default route with the lowest metric, from the text of /proc/net/ipv6_route. */
export function defaultRouteInterfaceV6(text: string): string | undefined {
  return text
    .split('\n')
    .map((line) => line.trim().split(/\s+/))
    .filter(
      ([destination = '1', length, , , , , , , , name]) => /^0+$/.test(destination) && length === '00' && name !== 'lo',
    )
    .sort((a, b) => Number.parseInt(a[5] ?? '', 16) - Number.parseInt(b[5] ?? '', 16))[0]?.[9];
}

function isLinkLocal(address: string): boolean {
  return /^(169\.254\.|fe[89ab])/i.test(address);
}

function readTextIfExists(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}
