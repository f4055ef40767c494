import type { ChannelEncoding } from './channel-messages.ts';

/** A protocol of exec and attach over a WebSocket. */
export interface WebSocketCommandProtocol {
  readonly encoding: ChannelEncoding;
  readonly outcome: 'status' | 'text';
  /** The client can close a channel with a message on channel 255 that names it. */
  readonly endsChannels: boolean;
}

/** The empty name is for clients that offer no protocol. */
const WEB_SOCKET_COMMAND: ReadonlyMap<string, WebSocketCommandProtocol> = new Map([
  ['v5.channel.k8s.io', { encoding: 'binary', outcome: 'status', endsChannels: true }],
  ['v4.channel.k8s.io', { encoding: 'binary', outcome: 'status', endsChannels: false }],
  ['v4.base64.channel.k8s.io', { encoding: 'base64', outcome: 'status', endsChannels: false }],
  ['channel.k8s.io', { encoding: 'binary', outcome: 'text', endsChannels: false }],
  ['base64.channel.k8s.io', { encoding: 'base64', outcome: 'text', endsChannels: false }],
  ['', { encoding: 'binary', outcome: 'text', endsChannels: false }],
]);

/** A protocol of exec and attach over SPDY. */
export interface SpdyCommandProtocol {
  readonly outcome: 'status' | 'text';
  /** A client with a terminal opens a stream for terminal sizes. */
  readonly hasResize: boolean;
}

const SPDY_COMMAND: ReadonlyMap<string, SpdyCommandProtocol> = new Map([
  ['v4.channel.k8s.io', { outcome: 'status', hasResize: true }],
  ['v3.channel.k8s.io', { outcome: 'text', hasResize: true }],
  ['v2.channel.k8s.io', { outcome: 'text', hasResize: false }],
  ['channel.k8s.io', { outcome: 'text', hasResize: false }],
]);

/** A protocol of port-forward over a WebSocket: channels, or SPDY tunneled in messages. */
export type WebSocketForwardProtocol = ChannelEncoding | 'spdy';

const WEB_SOCKET_FORWARD: ReadonlyMap<string, WebSocketForwardProtocol> = new Map([
  ['SPDY/3.1+portforward.k8s.io', 'spdy'],
  ['v4.channel.k8s.io', 'binary'],
  ['v4.base64.channel.k8s.io', 'base64'],
  ['', 'binary'],
]);

const SPDY_FORWARD: ReadonlySet<string> = new Set(['portforward.k8s.io']);

/** Protocols by transport and name. */
export const COMMAND_PROTOCOLS = { webSocket: WEB_SOCKET_COMMAND, spdy: SPDY_COMMAND };
export const FORWARD_PROTOCOLS = { webSocket: WEB_SOCKET_FORWARD, spdy: SPDY_FORWARD };
