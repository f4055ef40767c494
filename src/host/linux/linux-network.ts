import type { Network } from '../network.ts';
import { connectGrpc } from './http/grpc-connection.ts';
import { openPool } from './http/http-pool.ts';
import { request } from './http/http-request.ts';
import { serve, serveTcp } from './http/http-server.ts';
import { upgrade } from './http/upgrade-request.ts';
import { connectStream, serveStream } from './net/byte-stream.ts';
import { dial } from './net/dial.ts';
import { lookup } from './net/lookup.ts';

/** Sockets of this machine. */
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
    const { openWebSocket } = await import('./http/web-socket.ts');
    return openWebSocket(request, signal);
  },
  serveUpgrades: async (handler) => {
    const { serveUpgrades } = await import('./http/upgrade-server.ts');
    return serveUpgrades(handler);
  },
  serveTls: async (...args) => {
    // Only a node of a cluster needs it.
    const { serveTls } = await import('./http/tls-server.ts');
    return serveTls(...args);
  },
  upgrade,
};
