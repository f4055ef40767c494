/**
 * Messages of `channel.k8s.io`: one byte for the channel, then its data. With base64 both are text: a digit, then the data
 * in base64.
 */
export type ChannelEncoding = 'binary' | 'base64';

export interface ChannelMessage {
  readonly channel: number;
  readonly data: Uint8Array;
}

const DIGIT_ZERO = 0x30;
const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;

/** Strings are sent as text messages. */
export function encodeChannel(encoding: ChannelEncoding, channel: number, data: Uint8Array): Uint8Array | string {
  if (encoding === 'base64') return `${channel}${Buffer.from(data).toString('base64')}`;
  const message = new Uint8Array(1 + data.byteLength);
  message[0] = channel;
  message.set(data, 1);
  return message;
}

/** `undefined`: not a valid message; it is ignored. */
export function decodeChannel(encoding: ChannelEncoding, message: Uint8Array): ChannelMessage | undefined {
  const [first] = message;
  if (first === undefined) return undefined;
  const data = message.subarray(1);
  if (encoding === 'binary') return { channel: first, data };
  const text = Buffer.from(data).toString('latin1');
  if (first < DIGIT_ZERO || !BASE64.test(text)) return undefined;
  return { channel: first - DIGIT_ZERO, data: Buffer.from(text, 'base64') };
}
