import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:net';

/** Above those that kubelet has by default. */
const LOWEST = 11_000;
/** Even where the kernel gives nearly all of them. */
const FEWEST = 10_000;
/** For each process number: two runs at the same time begin to look at different places. */
const PORTS_OF_A_RUN = 16;

let asked = 0;

/**
 * A port that nobody listens on, for programs that cannot take one from the kernel, and no port twice. It is none that
 * the kernel gives to who asks for any: until the program has it, and whenever it is away, nobody gets it by chance.
 */
export async function freePort(host = '127.0.0.1'): Promise<number> {
  const count = Math.max(FEWEST, firstOfKernel() - LOWEST);
  for (;;) {
    const port = LOWEST + ((process.pid * PORTS_OF_A_RUN + asked++) % count);
    if (await isFree(port, host)) return port;
  }
}

/** The lowest that the kernel gives to who asks for any. */
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
