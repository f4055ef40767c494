import type { Network } from '../network.ts';
import { connectStream, serveStream } from './byte-stream.ts';
import { dial } from './dial.ts';
import { connectGrpc } from './grpc-connection.ts';
import { request } from './http-request.ts';
import { serve } from './http-server.ts';
import { lookup } from './lookup.ts';

/** The machine's sockets. */
export const linuxNetwork: Network = {
  lookup,
  dial,
  request,
  serve,
  serveStream,
  connectStream,
  grpc: connectGrpc,
  webSocket: async (request, signal) => {
    // Only exec, attach and port-forward need the package.
    const { openWebSocket } = await import('./web-socket.ts');
    return openWebSocket(request, signal);
  },
  serveWebSockets: async (handler) => {
    const { serveWebSockets } = await import('./web-socket-server.ts');
    return serveWebSockets(handler);
  },
};
