import type { ChannelEncoding } from './channel-messages.ts';

/** How exec and attach are carried in a WebSocket. */
export interface WebSocketCommandProtocol {
  readonly encoding: ChannelEncoding;
  readonly outcome: 'status' | 'text';
  /** A client can end a channel, by a message of channel 255 that names it. */
  readonly endsChannels: boolean;
}

/** The empty name is for clients that offer none. */
const WEB_SOCKET_COMMAND: ReadonlyMap<string, WebSocketCommandProtocol> = new Map([
  ['v5.channel.k8s.io', { encoding: 'binary', outcome: 'status', endsChannels: true }],
  ['v4.channel.k8s.io', { encoding: 'binary', outcome: 'status', endsChannels: false }],
  ['v4.base64.channel.k8s.io', { encoding: 'base64', outcome: 'status', endsChannels: false }],
  ['channel.k8s.io', { encoding: 'binary', outcome: 'text', endsChannels: false }],
  ['base64.channel.k8s.io', { encoding: 'base64', outcome: 'text', endsChannels: false }],
  ['', { encoding: 'binary', outcome: 'text', endsChannels: false }],
]);

/** How they are carried in SPDY. */
export interface SpdyCommandProtocol {
  readonly outcome: 'status' | 'text';
  /** A client with a terminal opens a stream for its sizes. */
  readonly hasResize: boolean;
}

const SPDY_COMMAND: ReadonlyMap<string, SpdyCommandProtocol> = new Map([
  ['v4.channel.k8s.io', { outcome: 'status', hasResize: true }],
  ['v3.channel.k8s.io', { outcome: 'text', hasResize: true }],
  ['v2.channel.k8s.io', { outcome: 'text', hasResize: false }],
  ['channel.k8s.io', { outcome: 'text', hasResize: false }],
]);

/** How port-forward is carried in a WebSocket: by channels, or as a connection of SPDY cut into messages. */
export type WebSocketForwardProtocol = ChannelEncoding | 'spdy';

const WEB_SOCKET_FORWARD: ReadonlyMap<string, WebSocketForwardProtocol> = new Map([
  ['SPDY/3.1+portforward.k8s.io', 'spdy'],
  ['v4.channel.k8s.io', 'binary'],
  ['v4.base64.channel.k8s.io', 'base64'],
  ['', 'binary'],
]);

const SPDY_FORWARD: ReadonlySet<string> = new Set(['portforward.k8s.io']);

/** By name, for who has been let in with one of them. */
export const COMMAND_PROTOCOLS = { webSocket: WEB_SOCKET_COMMAND, spdy: SPDY_COMMAND };
export const FORWARD_PROTOCOLS = { webSocket: WEB_SOCKET_FORWARD, spdy: SPDY_FORWARD };
