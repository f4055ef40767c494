import { readFileSync } from 'node:fs';
import { hostname, networkInterfaces, totalmem } from 'node:os';
import type { MachineFacts } from '../../machine-facts.ts';

export function readMachineFacts(): MachineFacts {
  const first = defaultRouteInterface(routes());
  const addresses = Object.entries(networkInterfaces())
    .sort(([a], [b]) => Number(b === first) - Number(a === first))
    .flatMap(([, each]) => each ?? [])
    .filter(({ internal, family }) => !internal && family === 'IPv4')
    .map(({ address }) => address);
  return { hostname: hostname(), memoryBytes: totalmem(), addresses };
}

function routes(): string {
  try {
    return readFileSync('/proc/net/route', 'utf8');
  } catch {
    return '';
  }
}

/** The interface of the default route with the lowest metric, from the text of /proc/net/route. */
export function defaultRouteInterface(text: string): string | undefined {
  const defaults = text
    .split('\n')
    .slice(1)
    .map((line) => line.split('\t'))
    .filter(([, destination, , , , , , mask]) => destination === '00000000' && mask === '00000000')
    .sort((a, b) => Number(a[6]) - Number(b[6]));
  return defaults[0]?.[0];
}
