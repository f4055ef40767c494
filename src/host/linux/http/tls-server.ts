import { constants } from 'node:crypto';
import { type IncomingMessage, ServerResponse as NodeResponse } from 'node:http';
import { createServer } from 'node:https';
import { type PeerCertificate, type SecureContextOptions, TLSSocket } from 'node:tls';
import type { HttpHandler, ServerResponse } from '../../network.ts';
import type { TcpAddress } from '../../tcp-server.ts';
import type { StreamResponse, TlsClient, TlsHandler, TlsRequest, TlsServer, TlsServerSettings } from '../../tls-server.ts';
import { byteStreamOf } from '../net/byte-stream.ts';
import { asNetworkError } from '../net/network-error.ts';
import { cipherList } from './cipher-suites.ts';
import { plainHeaders } from './http-request.ts';
import { answer, send, serverRequest, textOf } from './http-server.ts';
import { answerHead, listenForUpgrades } from './upgradable-server.ts';

/** A command of `kubectl exec` is in the URL. */
const MOST_HEADER_BYTES = 2 ** 20;
/** As kubelet has it: what Go's clients wait for. */
const KEEP_ALIVE_MS = 90_000;
const NOT_ASKED_FOR: ServerResponse = { status: 400, body: 'another upgrade was expected' };

/** Serves HTTPS on an address of this machine. */
export async function serveTls(address: TcpAddress, serving: TlsServerSettings, handler: TlsHandler): Promise<TlsServer> {
  const server = createServer(
    {
      ...contextOf(serving),
      requestCert: serving.clientAuthorities !== undefined,
      rejectUnauthorized: false, // others may show a token
      maxHeaderSize: MOST_HEADER_BYTES,
      keepAliveTimeout: KEEP_ALIVE_MS,
    },
    (incoming, outgoing) => void answer(incoming, outgoing, plainly(handler, incoming)),
  );
  server.on('tlsClientError', (_, socket) => socket.destroy());
  const listening = await listenForUpgrades(server, address, (incoming, socket, head) => {
    if (!(socket instanceof TLSSocket)) throw new TypeError('a connection of an HTTPS server is a TLS socket');
    void answerUpgrade(incoming, socket, head, handler);
  });
  return {
    ...listening,
    updateSettings: (now) => {
      try {
        server.setSecureContext(contextOf(now));
      } catch (error) {
        throw asNetworkError(error); // a certificate that is none, or not of its key
      }
    },
  };
}

function contextOf({ identity, clientAuthorities = [], minVersion, cipherSuites }: TlsServerSettings): SecureContextOptions {
  return {
    ...(identity && { cert: identity.certificate, key: identity.key }),
    ca: [...clientAuthorities], // none at all would mean those of the whole world
    minVersion: minVersion ?? 'TLSv1.2',
    ...(cipherSuites && cipherSuites.length > 0 && { ciphers: cipherList(cipherSuites) }),
    // A session that is taken up again would bring a client in that nobody vouches for any more.
    secureOptions: constants.SSL_OP_NO_TICKET,
  };
}

/** For a request that is no upgrade, whatever it asks for. */
function plainly(handler: TlsHandler, incoming: IncomingMessage): HttpHandler {
  return async (request) => {
    const answered = await handler(tlsRequest(incoming, request, ''));
    return answered.kind === 'response' ? answered.response : NOT_ASKED_FOR;
  };
}

function tlsRequest(incoming: IncomingMessage, request: ReturnType<typeof serverRequest>, upgrade: string): TlsRequest {
  const { socket } = incoming;
  const client: TlsClient = socket instanceof TLSSocket ? clientOf(socket) : { kind: 'none' };
  return { ...request, headers: plainHeaders(incoming), client, upgrade };
}

function clientOf(socket: TLSSocket): TlsClient {
  const shown: Partial<PeerCertificate> = socket.getPeerCertificate();
  if (shown.fingerprint256 === undefined) return { kind: 'none' };
  if (!socket.authorized) return { kind: 'untrusted', reason: String(socket.authorizationError) };
  const { CN, O } = shown.subject ?? {};
  return {
    kind: 'known',
    commonName: listOf(CN).at(-1) ?? '',
    organizations: listOf(O),
    fingerprint: shown.fingerprint256.replaceAll(':', '').toLowerCase(),
  };
}

function listOf(values: string | readonly string[] | undefined): readonly string[] {
  if (values === undefined) return [];
  return typeof values === 'string' ? [values] : values;
}

/** Of a request that asks for an upgrade: it gets one, or a plain answer and the end of the connection. */
async function answerUpgrade(
  incoming: IncomingMessage,
  socket: TLSSocket,
  head: Buffer,
  handler: TlsHandler,
): Promise<void> {
  socket.pause(); // nobody listens to what comes before the answer
  if (head.length > 0) socket.unshift(head);
  const gone = new AbortController();
  socket.once('close', () => gone.abort(new DOMException('the client is gone', 'AbortError')));
  const request = tlsRequest(incoming, serverRequest(incoming, gone.signal), incoming.headers.upgrade ?? '');
  const answered = await handler(request).catch((error: unknown) => failed(error));
  if (answered.kind === 'stream') switchProtocols(socket, answered.stream);
  else await sendPlainly(incoming, socket, answered.response, gone.signal);
}

function failed(error: unknown): { readonly kind: 'response'; readonly response: ServerResponse } {
  return { kind: 'response', response: { status: 500, body: textOf(error) } };
}

function switchProtocols(socket: TLSSocket, { headers, serve }: StreamResponse): void {
  socket.write(answerHead(101, headers));
  const stream = byteStreamOf(socket);
  socket.resume();
  serve(stream);
}

async function sendPlainly(
  incoming: IncomingMessage,
  socket: TLSSocket,
  response: ServerResponse,
  gone: AbortSignal,
): Promise<void> {
  const outgoing = new NodeResponse(incoming);
  outgoing.shouldKeepAlive = false;
  outgoing.assignSocket(socket);
  outgoing.once('finish', () => socket.end(() => socket.destroy())); // whether or not the client hangs up
  await send(response, outgoing, gone).catch(() => socket.destroy());
}
