import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { connectApiServer } from '../../src/app/cluster/api-server-client.ts';
import { type Log, silentLog } from '../../src/base/log.ts';
import { createLinuxHost } from '../../src/host/linux/linux-host.ts';
import type { HttpApiServer } from '../../src/kubelet/api-client/http-api-server.ts';

/** A client on the ports of this machine, without a rate limit. */
export function connectTo(kubeconfig: string, log: Log = silentLog): Promise<HttpApiServer> {
  const options = { userAgent: 'nodelet-test', rate: { qps: 0, burst: 0 }, environment: { PATH: '/usr/bin:/bin' } };
  return connectApiServer(kubeconfig, options, { ...createLinuxHost(process.env), log });
}

/** A TCP relay in front of a server that counts connections. */
export interface Relay extends Disposable {
  /** `https://127.0.0.1:…` */
  readonly url: string;
  /** The number of connections so far. */
  made(): number;
}

export async function startRelay(url: string): Promise<Relay> {
  const sockets: Socket[] = [];
  const server = createServer((socket) => {
    sockets.push(socket);
    const behind = connect(Number(new URL(url).port), '127.0.0.1');
    socket.pipe(behind).pipe(socket);
    socket.on('error', () => behind.destroy());
    behind.on('error', () => socket.destroy());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo; // the server listens on TCP
  return {
    url: `https://127.0.0.1:${port}`,
    made: () => sockets.length,
    [Symbol.dispose]() {
      for (const socket of sockets) socket.destroy();
      server.close();
    },
  };
}
