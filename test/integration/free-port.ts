import { createServer } from 'node:net';

/**
 * A port that nobody listens on, for programs that cannot take one from the kernel. Another one may take it before they
 * do: who starts such a program tries again.
 */
export async function freePort(host = '127.0.0.1'): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, host, resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  return typeof address === 'object' && address ? address.port : 0;
}
