import type { MemoryHost } from '../../../host/fake/memory-host.ts';
import type { WebSocketConnection } from '../../../host/network.ts';
import { openSpdySession } from '../../../streams/spdy/open-spdy-session.ts';
import type { SpdyStream } from '../../../streams/spdy/spdy-session.ts';
import type { CommandStreams } from '../command-client.ts';

/** A transport and protocol of exec and attach clients. */
export interface CommandTransport {
  readonly carrier: 'webSocket' | 'spdy';
  readonly protocol: string;
  readonly outcome: 'status' | 'text';
  readonly canEndInput: boolean;
  readonly canResize: boolean;
}

const webSocket = { carrier: 'webSocket', canResize: true, canEndInput: false } as const;
const spdy = { carrier: 'spdy', canEndInput: true } as const;

/** All supported combinations. */
export const COMMAND_TRANSPORTS: readonly CommandTransport[] = [
  { ...webSocket, protocol: 'v5.channel.k8s.io', outcome: 'status', canEndInput: true },
  { ...webSocket, protocol: 'v4.channel.k8s.io', outcome: 'status' },
  { ...webSocket, protocol: 'v4.base64.channel.k8s.io', outcome: 'status' },
  { ...webSocket, protocol: 'channel.k8s.io', outcome: 'text' },
  { ...webSocket, protocol: 'base64.channel.k8s.io', outcome: 'text' },
  { ...webSocket, protocol: '', outcome: 'text' },
  { ...spdy, protocol: 'v4.channel.k8s.io', outcome: 'status', canResize: true },
  { ...spdy, protocol: 'v3.channel.k8s.io', outcome: 'text', canResize: true },
  { ...spdy, protocol: 'v2.channel.k8s.io', outcome: 'text', canResize: false },
  { ...spdy, protocol: 'channel.k8s.io', outcome: 'text', canResize: false },
];

/** A client as its user sees it. */
export interface TestClient {
  type(text: string): Promise<void>;
  endInput(): Promise<void>;
  /** Sends this text as size; it may be invalid. */
  resize(text: string): Promise<void>;
  /** Disconnects abruptly. */
  leave(): void;
  /** Everything the client received by the end of the session. Call once; nothing is read before. */
  received(): Promise<Received>;
}

export interface Received {
  readonly stdout: string;
  readonly stderr: string;
  readonly error: string;
}

export function connectCommandClient(
  host: Pick<MemoryHost, 'network'>,
  url: string,
  transport: CommandTransport,
  wanted: CommandStreams,
): Promise<TestClient> {
  return transport.carrier === 'spdy'
    ? connectSpdy(host, url, transport, wanted)
    : connectWebSocket(host, url, transport);
}

export function urlTarget(url: string) {
  const { hostname, port, pathname } = new URL(url);
  return { target: { host: hostname, port: Number(port) }, path: pathname };
}

async function connectWebSocket(
  { network }: Pick<MemoryHost, 'network'>,
  url: string,
  { protocol }: CommandTransport,
): Promise<TestClient> {
  const client = new AbortController();
  const protocols = protocol === '' ? [] : [protocol];
  const connection = await network.webSocket({ ...urlTarget(url), protocols }, client.signal);
  const isBase64 = protocol.includes('base64');
  const send = (channel: number, text: string): Promise<void> =>
    connection.send(
      isBase64 ? `${channel}${Buffer.from(text).toString('base64')}` : Buffer.from(String.fromCharCode(channel) + text),
    );
  return {
    type: (text) => send(0, text),
    endInput: () => connection.send(Uint8Array.of(255, 0)),
    resize: (text) => send(4, text),
    leave: () => client.abort(new Error('gone')),
    received: () => receivedFrom(connection, isBase64),
  };
}

async function receivedFrom({ messages }: WebSocketConnection, isBase64: boolean): Promise<Received> {
  const channels = ['', '', '', ''];
  for await (const message of messages) {
    const text = Buffer.from(message).toString('latin1');
    const channel = isBase64 ? Number(text[0]) : text.charCodeAt(0);
    const data = isBase64 ? Buffer.from(text.slice(1), 'base64').toString('latin1') : text.slice(1);
    channels[channel] = (channels[channel] ?? '') + data;
  }
  const [, stdout = '', stderr = '', error = ''] = channels;
  return { stdout, stderr, error };
}

async function connectSpdy(
  { network }: Pick<MemoryHost, 'network'>,
  url: string,
  { protocol, canResize }: CommandTransport,
  { stdin, stdout, stderr, tty }: CommandStreams,
): Promise<TestClient> {
  const client = new AbortController();
  const headers = [['X-Stream-Protocol-Version', protocol]] as const;
  const request = { ...urlTarget(url), method: 'POST', upgrade: 'SPDY/3.1', headers } as const;
  const { stream: transport } = await network.upgrade(request, client.signal);
  const session = openSpdySession(transport, 'client');
  const open = async (type: string, isWanted: boolean): Promise<SpdyStream | undefined> =>
    isWanted ? session.open({ streamtype: [type] }, client.signal) : undefined;
  const error = await open('error', true);
  const input = await open('stdin', stdin);
  const outputs = [await open('stdout', stdout), await open('stderr', stderr)];
  const sizes = await open('resize', tty && canResize);
  return {
    type: async (text) => input?.write(Buffer.from(text)),
    endInput: async () => input?.end(),
    resize: async (text) => sizes?.write(Buffer.from(text)),
    leave: () => client.abort(new Error('gone')),
    received: async () => {
      const [out = '', err = '', failure = ''] = await Promise.all([...outputs, error].map(textFrom));
      await session.close();
      return { stdout: out, stderr: err, error: failure };
    },
  };
}

async function textFrom(stream: SpdyStream | undefined): Promise<string> {
  return Buffer.concat(await Array.fromAsync(stream?.chunks ?? [])).toString('latin1');
}
