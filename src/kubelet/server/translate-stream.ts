import { errorText } from '../../base/error-text.ts';
import { type ByteStream, NetworkError } from '../../host/network.ts';
import type { StreamResponse, TlsRequest } from '../../host/tls-server.ts';
import { UpgradeRejectedError } from '../../host/upgrade-rejected-error.ts';
import { copyBothWays } from '../../streams/copy-both-ways.ts';
import { serveWebSocket, webSocketAccept } from '../../streams/web-socket/serve-web-socket.ts';
import { webSocketByteStream } from '../../streams/web-socket/web-socket-byte-stream.ts';
import { asHttpError, connectToRuntime, type ProxyDeps } from './proxy-stream.ts';
import { HttpError } from './responses.ts';
import { type StreamOptions, tunnelledProtocols, webSocketProtocols } from './stream-query.ts';
import { translateCommand } from './translate-command.ts';

/** The client's protocol of exec and attach, which can end a channel, and the runtime's. */
const CLIENT_PROTOCOL = 'v5.channel.k8s.io';
const RUNTIME_PROTOCOL = 'v4.channel.k8s.io';

const SPDY = 'SPDY/3.1';
const PROTOCOL_HEADER = 'X-Stream-Protocol-Version';
const TUNNEL_PREFIX = 'SPDY/3.1+';

/** A session of a client: the runtime's address, and the streams of a command; without them it is a port-forward. */
export interface TranslatedSession {
  readonly address: string;
  readonly streams: StreamOptions | undefined;
  readonly onEnd: () => void;
}

/** Whether the runtime does not speak what the client asks for, and kubelet translates it. */
export function needsTranslation(
  { upgrade, headers }: Pick<TlsRequest, 'upgrade' | 'headers'>,
  streams: StreamOptions | undefined,
): boolean {
  if (upgrade.toLowerCase() !== 'websocket') return false;
  const protocols = webSocketProtocols(headers);
  return streams ? protocols.includes(CLIENT_PROTOCOL) : tunnelledProtocols(protocols).length > 0;
}

/** Serves a WebSocket client by a runtime that speaks SPDY. Throws an `HttpError`. */
export function translateStream(
  deps: ProxyDeps,
  session: TranslatedSession,
  request: Pick<TlsRequest, 'headers'>,
  signal: AbortSignal,
): Promise<StreamResponse> {
  const { streams } = session;
  return streams
    ? commandResponse(deps, { ...session, streams }, request)
    : tunnelResponse(deps, session, request, signal);
}

/** As in kubelet the client is answered before the runtime is connected: errors of the runtime are the outcome. */
async function commandResponse(
  deps: ProxyDeps,
  { address, streams, onEnd }: TranslatedSession & { readonly streams: StreamOptions },
  request: Pick<TlsRequest, 'headers'>,
): Promise<StreamResponse> {
  // Not by the request's signal: what a client has sent before it left is still delivered.
  const connect = (signal: AbortSignal): Promise<ByteStream> => connectForCommand(deps, address, signal);
  return webSocketResponse(request, CLIENT_PROTOCOL, async (stream) => {
    const client = serveWebSocket(stream, CLIENT_PROTOCOL);
    await translateCommand(client, streams, { clock: deps.clock, connect }).finally(onEnd);
    closeLater(stream, deps);
  });
}

async function connectForCommand(deps: ProxyDeps, address: string, signal: AbortSignal): Promise<ByteStream> {
  const offer = { method: 'POST', upgrade: SPDY, headers: [[PROTOCOL_HEADER, RUNTIME_PROTOCOL] as const] };
  const { headers, stream } = await connectToRuntime(deps, address, offer, signal).catch((cause: unknown) => {
    const text = cause instanceof UpgradeRejectedError ? cause.bodyText.trim() : errorText(cause);
    throw new NetworkError('EPROTO', `unable to upgrade connection: ${text}`, { cause });
  });
  if (headers[PROTOCOL_HEADER.toLowerCase()] === RUNTIME_PROTOCOL) return stream;
  stream.close();
  throw new NetworkError('EPROTO', `the runtime does not speak ${RUNTIME_PROTOCOL}`);
}

/** The messages of the client carry the runtime's SPDY session unchanged. A rejection of the runtime is that of the client. */
async function tunnelResponse(
  deps: ProxyDeps,
  { address, onEnd }: TranslatedSession,
  request: Pick<TlsRequest, 'headers'>,
  signal: AbortSignal,
): Promise<StreamResponse> {
  const offered = tunnelledProtocols(webSocketProtocols(request.headers));
  const headers = [[PROTOCOL_HEADER, offered.join(', ')] as const];
  const runtime = await connectToRuntime(deps, address, { method: 'POST', upgrade: SPDY, headers }, signal).catch(
    asHttpError,
  );
  const chosen = runtime.headers[PROTOCOL_HEADER.toLowerCase()];
  const protocol = chosen ? `${TUNNEL_PREFIX}${chosen}` : '';
  try {
    return webSocketResponse(request, protocol, async (stream) => {
      const client = webSocketByteStream(serveWebSocket(stream, protocol));
      await copyBothWays(client, runtime.stream, deps.clock).finally(onEnd);
      closeLater(stream, deps);
    });
  } catch (error) {
    runtime.stream.close();
    throw error;
  }
}

/** A client that does not end its side is disconnected. */
function closeLater(stream: ByteStream, { clock }: Pick<ProxyDeps, 'clock'>): void {
  clock.deadline(CLOSE_MS).addEventListener('abort', () => stream.close(), { once: true });
}

const CLOSE_MS = 10_000;
const WEB_SOCKET_VERSION = '13';
/** The base64 form of 16 bytes. */
const KEY = /^[A-Za-z0-9+/]{22}==$/;

/** Answers the handshake of RFC 6455. Throws an `HttpError`. `protocol`: empty for none. */
function webSocketResponse(
  { headers }: Pick<TlsRequest, 'headers'>,
  protocol: string,
  serve: (stream: ByteStream) => Promise<void>,
): StreamResponse {
  const key = headers['sec-websocket-key'] ?? '';
  if (headers['sec-websocket-version'] !== WEB_SOCKET_VERSION || !KEY.test(key)) {
    throw new HttpError(400, 'the WebSocket handshake of the client is invalid');
  }
  return {
    headers: [
      ['Connection', 'Upgrade'],
      ['Upgrade', 'websocket'],
      ['Sec-WebSocket-Accept', webSocketAccept(key)],
      ...(protocol === '' ? [] : [['Sec-WebSocket-Protocol', protocol] as const]),
    ],
    serve: (stream) => void serve(stream),
  };
}
