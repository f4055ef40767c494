import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:net';

/** Above kubelet's default ports. */
const LOWEST = 11_000;
/** Even where the ephemeral range covers nearly all ports. */
const FEWEST = 10_000;
/** Per process id: parallel runs begin at different ports. */
const PORTS_OF_A_RUN = 16;

let asked = 0;

/**
 * A port without a listener, for programs that cannot take one from the kernel; no port is returned twice. It is outside
 * the ephemeral range: while the program does not use it, no other process gets it by chance.
 */
export async function freePort(host = '127.0.0.1'): Promise<number> {
  const count = Math.max(FEWEST, firstOfKernel() - LOWEST);
  for (;;) {
    const port = LOWEST + ((process.pid * PORTS_OF_A_RUN + asked++) % count);
    if (await isFree(port, host)) return port;
  }
}

/** The lowest port of the ephemeral range. */
function firstOfKernel(): number {
  return Number(readFileSync('/proc/sys/net/ipv4/ip_local_port_range', 'utf8').split('\t')[0]);
}

async function isFree(port: number, host: string): Promise<boolean> {
  const server = createServer().listen(port, host);
  try {
    await once(server, 'listening');
  } catch {
    return false;
  }
  await new Promise((resolve) => server.close(resolve));
  return true;
}
