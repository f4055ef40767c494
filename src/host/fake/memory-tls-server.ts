import { NetworkError, type UpgradedConnection, type UpgradeRequest } from '../network.ts';
import type { TlsClient, TlsHandler, TlsRequest, TlsServer, TlsServerSettings } from '../tls-server.ts';
import { UpgradeRejectedError } from '../upgrade-rejected-error.ts';
import { byteStreamPair } from './memory-byte-stream.ts';
import type { MemoryCertificate } from './memory-certificate.ts';
import type { MemoryRequest } from './memory-exchange.ts';
import type { MemoryService } from './memory-network.ts';

/** The identity and the authority of a client certificate. */
export interface MemoryClient {
  readonly authority: string;
  readonly commonName: string;
  readonly organizations?: readonly string[];
}

const UNEXPECTED_UPGRADE = { status: 400, body: 'another upgrade was expected' } as const;
const NO_IDENTITY: MemoryCertificate = { authority: '', clients: [] };

/** Replaces PEM. */
export function memoryClientCertificate(client: MemoryClient): string {
  return JSON.stringify(client);
}

/** A server with a self-signed certificate. */
export function memoryTlsService(
  start: TlsServerSettings,
  handler: TlsHandler,
): MemoryService & Pick<TlsServer, 'updateSettings'> {
  const asksClients = start.clientAuthorities !== undefined;
  let settings = start;
  const call = (request: MemoryRequest, upgrade: string) => {
    const client = asksClients ? clientOf(request.certificates, settings) : ({ kind: 'none' } as const);
    return handler(tlsRequest(request, client, upgrade));
  };
  return {
    get certificate() {
      return settings.identity ? { authority: settings.identity.certificate } : NO_IDENTITY;
    },
    async http(request) {
      const response = await call(request, '');
      return response.kind === 'response' ? response.response : UNEXPECTED_UPGRADE;
    },
    async upgrades(request, signal) {
      const { path: url, method, headers = [], tls } = request;
      const [path = '/', ...query] = url.split('?');
      const certificates = tls?.clientCertificates?.map(({ certificate }) => certificate) ?? [];
      const rawQuery = query.join('?');
      const sent = { method, path, query: new URLSearchParams(rawQuery), rawQuery, headers, certificates };
      return upgraded(await call({ ...sent, body: nothing(), signal }, request.upgrade), signal);
    },
    updateSettings: (now) => {
      // In memory a name without spaces replaces PEM.
      if (now.identity && /\s/.test(`${now.identity.certificate}${now.identity.key}`)) {
        throw new NetworkError('ERR_OSSL_PEM_NO_START_LINE', 'no start line');
      }
      settings = now;
    },
  };
}

function clientOf([certificate]: readonly string[], { clientAuthorities = [] }: TlsServerSettings): TlsClient {
  if (certificate === undefined) return { kind: 'none' };
  const client: MemoryClient = JSON.parse(certificate);
  if (!clientAuthorities.includes(client.authority)) return { kind: 'untrusted', reason: 'SELF_SIGNED_CERT_IN_CHAIN' };
  const { commonName, organizations = [] } = client;
  return { kind: 'known', commonName, organizations, fingerprint: `of-${commonName}` };
}

function tlsRequest(request: MemoryRequest, client: TlsClient, upgrade: string): TlsRequest {
  const headers: Record<string, string> = {};
  for (const [name, value] of request.headers) {
    const key = name.toLowerCase();
    headers[key] = headers[key] === undefined ? value : `${headers[key]}, ${value}`;
  }
  return { ...request, headers, client, upgrade };
}

async function upgraded(response: Awaited<ReturnType<TlsHandler>>, over: AbortSignal): Promise<UpgradedConnection> {
  if (response.kind === 'response') {
    const { status, body, headers = {} } = response.response;
    const text = typeof body === 'string' ? body : (await Array.fromAsync(body)).join('');
    throw new UpgradeRejectedError(status, text, headers);
  }
  const { headers, serve } = response.stream;
  const [client, server] = byteStreamPair(over);
  serve(server);
  return { headers: Object.fromEntries(headers.map(([name, value]) => [name.toLowerCase(), value])), stream: client };
}

async function* nothing(): AsyncGenerator<Uint8Array> {}

/** Handles upgrade requests. */
export type MemoryUpgrades = (request: UpgradeRequest, signal: AbortSignal) => Promise<UpgradedConnection>;
