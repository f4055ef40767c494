import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse as NodeResponse } from 'node:http';
import type { HttpHandler, HttpServer, ServerRequest, ServerResponse, SocketFile } from '../../network.ts';
import type { TcpAddress, TcpServer } from '../../tcp-server.ts';
import { claimSocketFile } from '../net/claim-socket-file.ts';
import { closeServer, listenAt } from './upgradable-server.ts';

/** Serves HTTP on a socket file. */
export async function serve(address: SocketFile, handler: HttpHandler): Promise<HttpServer> {
  const pending = new Set<Promise<unknown>>();
  const server = createServer({ requestTimeout: 0 }, (incoming, outgoing) => {
    // requestTimeout 0: a body may be a stream that lasts as long as its client.
    const sent: Promise<unknown> = new Promise((resolve) => outgoing.once('close', resolve));
    pending.add(sent);
    void sent.then(() => pending.delete(sent));
    void handleRequest(incoming, outgoing, handler);
  });
  const file = await claimSocketFile(server, address);
  return {
    idle: async () => {
      while (pending.size > 0) await Promise.all(pending);
    },
    close: async () => {
      await closeServer(server);
      await file.release();
    },
  };
}

/** Serves HTTP on an address of this machine. */
export function serveTcp(address: TcpAddress, handler: HttpHandler): Promise<TcpServer> {
  return listenAt(
    address,
    createServer((incoming, outgoing) => void handleRequest(incoming, outgoing, handler)),
  );
}

/** Calls the handler and sends its response. */
export async function handleRequest(
  incoming: IncomingMessage,
  outgoing: NodeResponse,
  handler: HttpHandler,
): Promise<void> {
  const disconnected = new AbortController();
  outgoing.once('close', () => {
    if (!outgoing.writableFinished) disconnected.abort(new DOMException('the client has disconnected', 'AbortError'));
  });
  outgoing.on('error', () => {}); // followed by 'close'
  try {
    await sendResponse(await handler(serverRequest(incoming, disconnected.signal)), outgoing, disconnected.signal);
  } catch (error) {
    if (outgoing.headersSent) outgoing.destroy();
    else outgoing.writeHead(500, { 'content-type': 'text/plain' }).end(errorMessage(error));
  }
}

export function serverRequest(incoming: IncomingMessage, signal: AbortSignal): ServerRequest {
  const { method = 'GET', url = '/' } = incoming;
  const [path = '/', ...query] = url.split('?');
  // Leaving the iteration would otherwise destroy the connection before the response is sent.
  const body = { [Symbol.asyncIterator]: () => incoming.iterator({ destroyOnReturn: false }) };
  const rawQuery = query.join('?');
  return { method, path, query: new URLSearchParams(rawQuery), rawQuery, body, signal };
}

export async function sendResponse(
  response: ServerResponse,
  outgoing: NodeResponse,
  disconnected: AbortSignal,
): Promise<void> {
  outgoing.statusCode = response.status;
  for (const [name, value] of Object.entries(response.headers ?? {})) outgoing.setHeader(name, value);
  if (typeof response.body === 'string') {
    // Without flushed headers Node.js adds the content length.
    outgoing.end(response.body);
    return;
  }
  outgoing.flushHeaders(); // a stream may have no data for long, and its client waits for the headers
  for await (const chunk of response.body) {
    if (disconnected.aborted) return;
    if (!outgoing.write(chunk)) await drained(outgoing, disconnected);
  }
  outgoing.end();
}

async function drained(outgoing: NodeResponse, disconnected: AbortSignal): Promise<void> {
  if (disconnected.aborted) return;
  await once(outgoing, 'drain', { signal: disconnected }).catch((error: unknown) => {
    if (!disconnected.aborted) throw error;
  });
}

export function errorMessage(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
