import { once } from 'node:events';
import { type IncomingMessage, type Server, STATUS_CODES } from 'node:http';
import type { Server as SecureServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import type { TcpAddress, TcpServer } from '../../tcp-server.ts';
import { asNetworkError } from '../net/network-error.ts';
import { reportServerErrors } from '../net/report-server-errors.ts';

const ALL_ADDRESSES = '0.0.0.0';

/** Makes a server listen and tracks upgraded connections, which Node.js does not close with the server. */
export async function listenForUpgrades(
  server: Server | SecureServer,
  address: TcpAddress,
  upgrade: (request: IncomingMessage, socket: Duplex, head: Buffer) => void,
): Promise<TcpServer> {
  const open = new Set<Duplex>();
  server.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    socket.on('error', () => {}); // followed by 'close'
    open.add(socket);
    socket.once('close', () => open.delete(socket));
    upgrade(request, socket, head);
  });
  const { port, close } = await listenAt(address, server);
  return {
    port,
    close: async () => {
      for (const socket of open) socket.destroy();
      await close();
    },
  };
}

export async function listenAt({ host, port }: TcpAddress, server: Server | SecureServer): Promise<TcpServer> {
  // Without a host Node.js listens on both families, or on the one that the kernel has.
  server.listen(port, host === ALL_ADDRESSES ? undefined : host);
  await once(server, 'listening').catch((error: unknown) => Promise.reject(asNetworkError(error)));
  const { port: bound } = server.address() as AddressInfo; // it listens on TCP
  reportServerErrors(server, `${host}:${bound}`);
  return {
    port: bound,
    close: () => closeServer(server),
  };
}

/** Also closes its connections. */
export async function closeServer(server: Server | SecureServer): Promise<void> {
  const closed = once(server, 'close');
  server.close();
  server.closeAllConnections();
  await closed;
}

/** The status line and headers of a response on a raw socket. */
export function responseHead(status: number, headers: ReadonlyArray<readonly [string, string]>): string {
  const lines = headers.map(([name, value]) => `${name}: ${value}\r\n`);
  return `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}\r\n${lines.join('')}\r\n`;
}
