import { type ByteStream, type Network, NetworkError } from '../../../host/network.ts';
import { openSpdySession } from '../../../streams/spdy/open-spdy-session.ts';
import type { SpdySession, SpdyStream } from '../../../streams/spdy/spdy-session.ts';
import { webSocketByteStream } from '../../../streams/web-socket/web-socket-byte-stream.ts';
import { urlTarget } from './command-clients.ts';

const PROTOCOL = 'portforward.k8s.io';

type ClientNetwork = Pick<Network, 'upgrade' | 'webSocket'>;

/** Transport of SPDY: a connection of its own, or a WebSocket. */
export type SpdyCarrier = 'spdy' | 'webSocket';

/** A port-forward client over SPDY. */
export interface SpdyForwarder {
  readonly session: SpdySession;
  connect(port: number | string, requestId?: string): Promise<TestConnection>;
  /** Disconnects abruptly. */
  leave(): void;
}

export interface TestConnection {
  readonly data: SpdyStream;
  readonly error: SpdyStream;
}

export async function connectForwarder(
  { network }: { readonly network: ClientNetwork },
  url: string,
  carrier: SpdyCarrier,
): Promise<SpdyForwarder> {
  const client = new AbortController();
  const transport = carrier === 'spdy' ? await upgraded(network, url, client) : await tunnelled(network, url, client);
  const session = openSpdySession(transport, 'client');
  let next = 0;
  return {
    session,
    connect: async (port, requestId = String(next++)) => {
      const headers = { port: [String(port)], requestid: [requestId] };
      const error = await session.open({ ...headers, streamtype: ['error'] }, client.signal);
      await error.end();
      return { error, data: await session.open({ ...headers, streamtype: ['data'] }, client.signal) };
    },
    leave: () => client.abort(new NetworkError('ECONNRESET', 'gone')),
  };
}

async function upgraded(network: ClientNetwork, url: string, client: AbortController): Promise<ByteStream> {
  const headers = [['X-Stream-Protocol-Version', PROTOCOL]] as const;
  const request = { ...urlTarget(url), method: 'POST', upgrade: 'SPDY/3.1', headers } as const;
  return (await network.upgrade(request, client.signal)).stream;
}

async function tunnelled(network: ClientNetwork, url: string, client: AbortController): Promise<ByteStream> {
  const protocols = [`SPDY/3.1+${PROTOCOL}`];
  return webSocketByteStream(await network.webSocket({ ...urlTarget(url), protocols }, client.signal));
}

export async function readText(chunks: AsyncIterable<Uint8Array> | readonly Uint8Array[]): Promise<string> {
  return Buffer.concat(await Array.fromAsync(chunks)).toString();
}
