import type { Network } from '../network.ts';
import { connectStream, serveStream } from './byte-stream.ts';
import { dial } from './dial.ts';
import { connectGrpc } from './grpc-connection.ts';
import { openPool } from './http-pool.ts';
import { request } from './http-request.ts';
import { serve, serveTcp } from './http-server.ts';
import { lookup } from './lookup.ts';
import { upgrade } from './upgrade-request.ts';

/** The machine's sockets. */
export const linuxNetwork: Network = {
  lookup,
  dial,
  request,
  pool: () => openPool(),
  serve,
  serveTcp,
  serveStream,
  connectStream,
  grpc: connectGrpc,
  webSocket: async (request, signal) => {
    // Only exec, attach and port-forward need the package.
    const { openWebSocket } = await import('./web-socket.ts');
    return openWebSocket(request, signal);
  },
  serveUpgrades: async (handler) => {
    const { serveUpgrades } = await import('./upgrade-server.ts');
    return serveUpgrades(handler);
  },
  serveTls: async (...args) => {
    // Only a node of a cluster needs it.
    const { serveTls } = await import('./tls-server.ts');
    return serveTls(...args);
  },
  upgrade,
};
