import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse as NodeResponse } from 'node:http';
import type { HttpHandler, HttpServer, ServerRequest, ServerResponse, SocketFile } from '../../network.ts';
import type { TcpAddress, TcpServer } from '../../tcp-server.ts';
import { claimSocketFile } from '../net/claim-socket-file.ts';
import { closeServer, listenAt } from './upgradable-server.ts';

/** Serves HTTP on a socket file. */
export async function serve(address: SocketFile, handler: HttpHandler): Promise<HttpServer> {
  const answering = new Set<Promise<unknown>>();
  const server = createServer({ requestTimeout: 0 }, (incoming, outgoing) => {
    // requestTimeout 0: a body may be a stream that lasts as long as its client.
    const sent: Promise<unknown> = new Promise((resolve) => outgoing.once('close', resolve));
    answering.add(sent);
    void sent.then(() => answering.delete(sent));
    void answer(incoming, outgoing, handler);
  });
  const file = await claimSocketFile(server, address);
  return {
    idle: async () => {
      while (answering.size > 0) await Promise.all(answering);
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
    createServer((incoming, outgoing) => void answer(incoming, outgoing, handler)),
  );
}

/** Asks the handler and sends what it says. */
export async function answer(incoming: IncomingMessage, outgoing: NodeResponse, handler: HttpHandler): Promise<void> {
  const gone = new AbortController();
  outgoing.once('close', () => {
    if (!outgoing.writableFinished) gone.abort(new DOMException('the client is gone', 'AbortError'));
  });
  outgoing.on('error', () => {}); // followed by 'close'
  try {
    await send(await handler(serverRequest(incoming, gone.signal)), outgoing, gone.signal);
  } catch (error) {
    if (outgoing.headersSent) outgoing.destroy();
    else outgoing.writeHead(500, { 'content-type': 'text/plain' }).end(textOf(error));
  }
}

export function serverRequest(incoming: IncomingMessage, signal: AbortSignal): ServerRequest {
  const { method = 'GET', url = '/' } = incoming;
  const [path = '/', ...query] = url.split('?');
  // An iteration that is left would otherwise end the connection, and with it the answer.
  const body = { [Symbol.asyncIterator]: () => incoming.iterator({ destroyOnReturn: false }) };
  return { method, path, query: new URLSearchParams(query.join('?')), body, signal };
}

export async function send(response: ServerResponse, outgoing: NodeResponse, gone: AbortSignal): Promise<void> {
  outgoing.statusCode = response.status;
  for (const [name, value] of Object.entries(response.headers ?? {})) outgoing.setHeader(name, value);
  if (typeof response.body === 'string') {
    // With the head still to come, Node.js says in it how long the body is.
    outgoing.end(response.body);
    return;
  }
  outgoing.flushHeaders(); // a stream may be silent for long, and its reader wants to know that it stands
  for await (const chunk of response.body) {
    if (gone.aborted) return;
    if (!outgoing.write(chunk)) await drained(outgoing, gone);
  }
  outgoing.end();
}

async function drained(outgoing: NodeResponse, gone: AbortSignal): Promise<void> {
  if (gone.aborted) return;
  await once(outgoing, 'drain', { signal: gone }).catch((error: unknown) => {
    if (!gone.aborted) throw error;
  });
}

export function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
