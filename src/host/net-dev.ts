import type { InterfaceCounters, TrafficCounters } from './network-namespaces.ts';

/** Parses `/proc/<pid>/net/dev`: two title lines, then `name: <8 receive counters> <8 transmit counters>`. */
export function parseNetDev(text: string): readonly InterfaceCounters[] {
  return text
    .split('\n')
    .slice(2)
    .flatMap((line) => {
      const colon = line.lastIndexOf(':'); // an alias has one in its name
      if (colon === -1) return [];
      const figures = line
        .slice(colon + 1)
        .trim()
        .split(/\s+/);
      const name = line.slice(0, colon).trim();
      return [{ name, received: trafficAt(figures, 0), sent: trafficAt(figures, 8) }];
    });
}

function trafficAt(figures: readonly string[], start: number): TrafficCounters {
  const figure = (index: number): bigint => BigInt(figures[start + index] ?? 0);
  return { bytes: figure(0), packets: figure(1), errors: figure(2), dropped: figure(3) };
}
