import {
  NetworkError,
  type ServerResponse,
  type UpgradedConnection,
  type UpgradeHandler,
  type IncomingUpgrade,
  type UpgradeRequest,
  type UpgradeDecision,
  type WebSocketConnection,
  type WebSocketRequest,
} from '../network.ts';
import { UpgradeRejectedError } from '../upgrade-rejected-error.ts';
import { byteStreamPair } from './memory-byte-stream.ts';
import type { MemoryRequest } from './memory-exchange.ts';
import { webSocketPair } from './memory-web-socket.ts';

/** How a connection ends from outside: the client's signal, and the server's death. */
interface ConnectionSignals {
  readonly signal: AbortSignal;
  readonly severed: AbortSignal;
}

const UNEXPECTED_UPGRADE: Extract<UpgradeDecision, { kind: 'refuse' }> = {
  kind: 'refuse',
  status: 400,
  message: 'another upgrade was expected',
};

/** What a server of upgrades answers to who only asks. */
export function respondToPlainRequest(handler: UpgradeHandler, { path, query, headers }: MemoryRequest): ServerResponse {
  const upgrade = headers.find(([name]) => name.toLowerCase() === 'upgrade')?.[1] ?? '';
  const verdict = handler({ path, query, upgrade, protocols: streamProtocols(headers) });
  const { status, message, headers: answered = [] } = verdict.kind === 'refuse' ? verdict : UNEXPECTED_UPGRADE;
  return { status, headers: Object.fromEntries(answered), body: message };
}

/** The client's end, once the server has accepted. */
export function openWebSocketUpgrade(
  handler: UpgradeHandler,
  { path, protocols }: WebSocketRequest,
  { signal, severed }: ConnectionSignals,
): WebSocketConnection {
  const verdict = handler({ ...urlOf(path), upgrade: 'websocket', protocols });
  if (verdict.kind !== 'webSocket') {
    const { status } = verdict.kind === 'refuse' ? verdict : UNEXPECTED_UPGRADE;
    throw new NetworkError('EPROTO', `Unexpected server response: ${status}`);
  }
  if (verdict.protocol === '' && protocols.length > 0) {
    throw new NetworkError('EPROTO', 'Server sent no subprotocol');
  }
  const { client, server } = webSocketPair(verdict.protocol, signal, severed);
  verdict.serve(server);
  return client;
}

/** The same for what is no WebSocket. */
export function openStreamUpgrade(
  handler: UpgradeHandler,
  { path, upgrade, headers = [] }: UpgradeRequest,
  { signal, severed }: ConnectionSignals,
): UpgradedConnection {
  const verdict = handler({ ...urlOf(path), upgrade, protocols: streamProtocols(headers) });
  if (verdict.kind !== 'stream') {
    const { status, message, headers: told = [] } = verdict.kind === 'refuse' ? verdict : UNEXPECTED_UPGRADE;
    throw new UpgradeRejectedError(status, message, lowerCase(told));
  }
  const [client, server] = byteStreamPair(AbortSignal.any([signal, severed]));
  verdict.serve(server);
  const answered = [['connection', 'Upgrade'] as const, ['upgrade', upgrade] as const, ...(verdict.headers ?? [])];
  return { headers: lowerCase(answered), stream: client };
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
