import {
  type IncomingUpgrade,
  NetworkError,
  type ServerResponse,
  type UpgradeDecision,
  type UpgradedConnection,
  type UpgradeHandler,
  type UpgradeRequest,
  type WebSocketConnection,
  type WebSocketRequest,
} from '../network.ts';
import { UpgradeRejectedError } from '../upgrade-rejected-error.ts';
import { byteStreamPair } from './memory-byte-stream.ts';
import type { MemoryRequest } from './memory-exchange.ts';
import { webSocketPair } from './memory-web-socket.ts';

/** The signals that end a connection: of the client, and of a killed server. */
interface ConnectionSignals {
  readonly signal: AbortSignal;
  readonly severed: AbortSignal;
}

const UNEXPECTED_UPGRADE: Extract<UpgradeDecision, { kind: 'refuse' }> = {
  kind: 'refuse',
  status: 400,
  message: 'another upgrade was expected',
};

/** The response of an upgrade server to a request without an upgrade. */
export function respondToPlainRequest(
  handler: UpgradeHandler,
  { path, query, headers }: MemoryRequest,
): ServerResponse {
  const upgrade = headers.find(([name]) => name.toLowerCase() === 'upgrade')?.[1] ?? '';
  const decision = handler({ path, query, upgrade, protocols: streamProtocols(headers) });
  const { status, message, headers: responseHeaders = [] } = decision.kind === 'refuse' ? decision : UNEXPECTED_UPGRADE;
  return { status, headers: Object.fromEntries(responseHeaders), body: message };
}

/** The client's end of an accepted WebSocket. */
export function openWebSocketUpgrade(
  handler: UpgradeHandler,
  { path, protocols }: WebSocketRequest,
  { signal, severed }: ConnectionSignals,
): WebSocketConnection {
  const decision = handler({ ...urlOf(path), upgrade: 'websocket', protocols });
  if (decision.kind !== 'webSocket') {
    const { status } = decision.kind === 'refuse' ? decision : UNEXPECTED_UPGRADE;
    throw new NetworkError('EPROTO', `Unexpected server response: ${status}`);
  }
  if (decision.protocol === '' && protocols.length > 0) {
    throw new NetworkError('EPROTO', 'Server sent no subprotocol');
  }
  const { client, server } = webSocketPair(decision.protocol, signal, severed);
  decision.serve(server);
  return client;
}

/** The client's end of an accepted byte stream. */
export function openStreamUpgrade(
  handler: UpgradeHandler,
  { path, upgrade, headers = [] }: UpgradeRequest,
  { signal, severed }: ConnectionSignals,
): UpgradedConnection {
  const decision = handler({ ...urlOf(path), upgrade, protocols: streamProtocols(headers) });
  if (decision.kind !== 'stream') {
    const {
      status,
      message,
      headers: rejectionHeaders = [],
    } = decision.kind === 'refuse' ? decision : UNEXPECTED_UPGRADE;
    throw new UpgradeRejectedError(status, message, lowerCase(rejectionHeaders));
  }
  const [client, server] = byteStreamPair(AbortSignal.any([signal, severed]));
  decision.serve(server);
  const responseHeaders = [
    ['connection', 'Upgrade'] as const,
    ['upgrade', upgrade] as const,
    ...(decision.headers ?? []),
  ];
  return { headers: lowerCase(responseHeaders), stream: client };
}

function lowerCase(headers: ReadonlyArray<readonly [name: string, value: string]>): Readonly<Record<string, string>> {
  return Object.fromEntries(headers.map(([name, value]) => [name.toLowerCase(), value]));
}

function urlOf(url: string): Pick<IncomingUpgrade, 'path' | 'query'> {
  const [path = '/', ...query] = url.split('?');
  return { path, query: new URLSearchParams(query.join('?')) };
}

function streamProtocols(headers: ReadonlyArray<readonly [name: string, value: string]>): readonly string[] {
  return headers
    .filter(([name]) => name.toLowerCase() === 'x-stream-protocol-version')
    .flatMap(([, value]) => value.split(',').map((each) => each.trim()))
    .filter(Boolean);
}
