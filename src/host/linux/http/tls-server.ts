import { constants } from 'node:crypto';
import { type IncomingMessage, ServerResponse as NodeResponse } from 'node:http';
import { createServer } from 'node:https';
import { type PeerCertificate, type SecureContextOptions, TLSSocket } from 'node:tls';
import type { HttpHandler, ServerResponse } from '../../network.ts';
import type { TcpAddress } from '../../tcp-server.ts';
import { curveList } from '../../tls-curves.ts';
import type {
  StreamResponse,
  TlsClient,
  TlsHandler,
  TlsRequest,
  TlsServer,
  TlsServerSettings,
} from '../../tls-server.ts';
import { byteStreamOf } from '../net/byte-stream.ts';
import { asNetworkError } from '../net/network-error.ts';
import { cipherList } from './cipher-suites.ts';
import { plainHeaders } from './http-request.ts';
import { errorMessage, handleRequest, sendResponse, serverRequest } from './http-server.ts';
import { listenForUpgrades, responseHead } from './upgradable-server.ts';

/** The URL of `kubectl exec` contains the command. */
const MAX_HEADER_BYTES = 2 ** 20;
/** As in kubelet: the idle timeout of Go's clients. */
const KEEP_ALIVE_MS = 90_000;
const UNEXPECTED_UPGRADE: ServerResponse = { status: 400, body: 'another upgrade was expected' };

/** Serves HTTPS on an address of this machine. */
export async function serveTls(
  address: TcpAddress,
  serving: TlsServerSettings,
  handler: TlsHandler,
): Promise<TlsServer> {
  const server = createServer(
    {
      ...contextOf(serving),
      requestCert: serving.clientAuthorities !== undefined,
      rejectUnauthorized: false, // clients without a valid certificate may have a token
      maxHeaderSize: MAX_HEADER_BYTES,
      keepAliveTimeout: KEEP_ALIVE_MS,
    },
    (incoming, outgoing) => void handleRequest(incoming, outgoing, asHttpHandler(handler, incoming)),
  );
  server.on('tlsClientError', (_, socket) => socket.destroy());
  const listening = await listenForUpgrades(server, address, (incoming, socket, head) => {
    if (!(socket instanceof TLSSocket)) throw new TypeError('a connection of an HTTPS server is a TLS socket');
    void handleUpgrade(incoming, socket, head, handler);
  });
  return {
    ...listening,
    updateSettings: (now) => {
      try {
        server.setSecureContext(contextOf(now));
      } catch (error) {
        throw asNetworkError(error); // an invalid certificate, or one that does not match its key
      }
    },
  };
}

function contextOf({
  identity,
  clientAuthorities = [],
  minVersion,
  cipherSuites,
  curves = [],
}: TlsServerSettings): SecureContextOptions {
  return {
    ...(identity && { cert: identity.certificate, key: identity.key }),
    ca: [...clientAuthorities], // an absent list would mean the default authorities
    minVersion: minVersion ?? 'TLSv1.2',
    ...(cipherSuites && cipherSuites.length > 0 && { ciphers: cipherList(cipherSuites) }),
    ...(curves.length > 0 && { ecdhCurve: curveList(curves) }),
    // A resumed session would skip the verification of the client certificate.
    secureOptions: constants.SSL_OP_NO_TICKET,
  };
}

/** For requests without an upgrade. */
function asHttpHandler(handler: TlsHandler, incoming: IncomingMessage): HttpHandler {
  return async (request) => {
    const response = await handler(tlsRequest(incoming, request, ''));
    return response.kind === 'response' ? response.response : UNEXPECTED_UPGRADE;
  };
}

function tlsRequest(incoming: IncomingMessage, request: ReturnType<typeof serverRequest>, upgrade: string): TlsRequest {
  const { socket } = incoming;
  const client: TlsClient = socket instanceof TLSSocket ? clientOf(socket) : { kind: 'none' };
  return { ...request, headers: plainHeaders(incoming), client, upgrade };
}

function clientOf(socket: TLSSocket): TlsClient {
  const certificate: Partial<PeerCertificate> = socket.getPeerCertificate();
  if (certificate.fingerprint256 === undefined) return { kind: 'none' };
  if (!socket.authorized) return { kind: 'untrusted', reason: String(socket.authorizationError) };
  const { CN, O } = certificate.subject ?? {};
  return {
    kind: 'known',
    commonName: listOf(CN).at(-1) ?? '',
    organizations: listOf(O),
    fingerprint: certificate.fingerprint256.replaceAll(':', '').toLowerCase(),
  };
}

function listOf(values: string | readonly string[] | undefined): readonly string[] {
  if (values === undefined) return [];
  return typeof values === 'string' ? [values] : values;
}

/** For requests with an upgrade: sends 101 and a stream, or a plain response and closes the connection. */
async function handleUpgrade(
  incoming: IncomingMessage,
  socket: TLSSocket,
  head: Buffer,
  handler: TlsHandler,
): Promise<void> {
  socket.pause(); // there is no reader before the response
  if (head.length > 0) socket.unshift(head);
  const disconnected = new AbortController();
  socket.once('close', () => disconnected.abort(new DOMException('the client has disconnected', 'AbortError')));
  const request = tlsRequest(incoming, serverRequest(incoming, disconnected.signal), incoming.headers.upgrade ?? '');
  const response = await handler(request).catch((error: unknown) => internalError(error));
  if (response.kind === 'stream') switchProtocols(socket, response.stream);
  else await sendAndClose(incoming, socket, response.response, disconnected.signal);
}

function internalError(error: unknown): { readonly kind: 'response'; readonly response: ServerResponse } {
  return { kind: 'response', response: { status: 500, body: errorMessage(error) } };
}

function switchProtocols(socket: TLSSocket, { headers, serve }: StreamResponse): void {
  socket.write(responseHead(101, headers));
  const stream = byteStreamOf(socket);
  socket.resume();
  serve(stream);
}

async function sendAndClose(
  incoming: IncomingMessage,
  socket: TLSSocket,
  response: ServerResponse,
  disconnected: AbortSignal,
): Promise<void> {
  const outgoing = new NodeResponse(incoming);
  outgoing.shouldKeepAlive = false;
  outgoing.assignSocket(socket);
  outgoing.once('finish', () => socket.end(() => socket.destroy())); // also if the client does not close
  await sendResponse(response, outgoing, disconnected).catch(() => socket.destroy());
}
