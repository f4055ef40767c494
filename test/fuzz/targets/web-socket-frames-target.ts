import { isDeepStrictEqual } from 'node:util';
import { clientFrame } from '../../../src/streams/web-socket/web-socket-client.fixture.ts';
import {
  WebSocketDecoder,
  type WebSocketFrame,
  WebSocketProtocolError,
} from '../../../src/streams/web-socket/web-socket-frames.ts';
import { binary, type FuzzTarget, randomChunks, requireProperty } from '../fuzz-target.ts';

/** The frames of a client, decoded by the node's server. */
export const WEB_SOCKET_FRAMES: FuzzTarget = {
  name: 'web-socket-frames',
  testInputs: 400,
  seeds: [
    Buffer.concat([clientFrame('\0ls\n'), clientFrame('ping', { opcode: 9 }), clientFrame('', { opcode: 8 })]),
    Buffer.concat([
      clientFrame('ab', { isFinal: false }),
      clientFrame('', { opcode: 10 }),
      clientFrame('cd', { opcode: 0 }),
    ]),
    clientFrame('x'.repeat(300)),
    clientFrame('x'.repeat(70_000)),
  ],
  tokens: ['\x82\x80', '\x82\xff', '\x82\xfe\0\x80', '\0\0\0\0', '\x89\x80\0\0\0\0', '\x02\x81'].map(binary),
  errors: [WebSocketProtocolError],
  run(input, draw) {
    const whole = decoded([input]);
    const parts = decoded(randomChunks(input, draw));
    requireProperty(isDeepStrictEqual(whole.frames, parts.frames), 'the frames depend on how the bytes are split');
    const bytes = whole.frames.reduce((sum, frame) => sum + ('data' in frame ? frame.data.length : 0), 0);
    requireProperty(bytes <= input.length, 'more data than input');
    if (whole.error) throw whole.error;
    return whole.frames;
  },
};

function decoded(chunks: readonly Uint8Array[]): {
  readonly frames: readonly WebSocketFrame[];
  readonly error: unknown;
} {
  const decoder = new WebSocketDecoder();
  const frames: WebSocketFrame[] = [];
  try {
    for (const chunk of chunks) for (const frame of decoder.frames(chunk)) frames.push(frame);
    return { frames, error: undefined };
  } catch (error) {
    return { frames, error };
  }
}
