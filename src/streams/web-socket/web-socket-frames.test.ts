import assert from 'node:assert/strict';
import { test } from 'node:test';
import { clientFrame } from './web-socket-client.fixture.ts';
import {
  encodeClose,
  encodeMessage,
  encodePong,
  WebSocketDecoder,
  WebSocketProtocolError,
} from './web-socket-frames.ts';

function decoded(bytes: Uint8Array, size = bytes.length): unknown[] {
  const decoder = new WebSocketDecoder();
  const found: unknown[] = [];
  for (let at = 0; at < bytes.length; at += size) {
    for (const frame of decoder.frames(bytes.subarray(at, at + size))) {
      found.push('data' in frame ? `${frame.kind} ${Buffer.from(frame.data).toString('latin1')}` : frame.kind);
    }
  }
  return found;
}

const long = 'x'.repeat(70_000);
const cases: Record<string, { bytes: readonly Uint8Array[]; frames: readonly string[] }> = {
  'a message': { bytes: [clientFrame('\0ls')], frames: ['message \0ls'] },
  'an empty message': { bytes: [clientFrame('')], frames: ['message '] },
  'messages of every length': {
    bytes: [125, 126, 300, 65_535, 65_536].map((length) => clientFrame(long.slice(0, length))),
    frames: [125, 126, 300, 65_535, 65_536].map((length) => `message ${long.slice(0, length)}`),
  },
  'a message in parts, with a ping between them': {
    bytes: [
      clientFrame('ab', { isFinal: false }),
      clientFrame('?', { opcode: 9 }),
      clientFrame('', { opcode: 0, isFinal: false }),
      clientFrame('cd', { opcode: 0 }),
      clientFrame('e', { opcode: 1 }),
    ],
    frames: ['ping ?', 'message abcd', 'message e'],
  },
  'a pong and a close': {
    bytes: [clientFrame('', { opcode: 10 }), clientFrame('', { opcode: 8 })],
    frames: ['pong', 'close'],
  },
};
for (const [name, { bytes, frames }] of Object.entries(cases)) {
  for (const size of [1, 3, 1 << 20]) {
    test(`WebSocketDecoder reads ${name}, ${size} bytes at a time`, () => {
      assert.deepEqual(decoded(Buffer.concat(bytes), size), frames);
    });
  }
}

const broken: Record<string, { bytes: Uint8Array; status: number }> = {
  'a frame without a mask': { bytes: Uint8Array.of(0x82, 0, 0, 0, 0, 0), status: 1002 },
  'an extension': { bytes: Uint8Array.of(0xc2, 0x80, 0, 0, 0, 0), status: 1002 },
  'an unknown opcode': { bytes: clientFrame('', { opcode: 3 }), status: 1002 },
  'a part without a beginning': { bytes: clientFrame('', { opcode: 0 }), status: 1002 },
  'a message within another': {
    bytes: Buffer.concat([clientFrame('', { isFinal: false }), clientFrame('')]),
    status: 1002,
  },
  'a ping in parts': { bytes: clientFrame('', { opcode: 9, isFinal: false }), status: 1002 },
  'a ping that is too long': { bytes: clientFrame('x'.repeat(126), { opcode: 9 }), status: 1002 },
  'a length beyond the limit': {
    bytes: Uint8Array.of(0x82, 0xff, 0, 0, 0, 0, 2, 0, 0, 1, 0, 0, 0, 0),
    status: 1009,
  },
  'a length of 64 bits': { bytes: Uint8Array.of(0x82, 0xff, ...new Array<number>(12).fill(0xff)), status: 1009 },
};
for (const [name, { bytes, status }] of Object.entries(broken)) {
  test(`WebSocketDecoder refuses ${name}`, () => {
    assert.throws(
      () => decoded(bytes),
      (error) => error instanceof WebSocketProtocolError && error.status === status,
    );
  });
}

test('frames of a server are not masked', () => {
  assert.deepEqual([...encodeMessage(Uint8Array.of(1, 2))], [0x82, 2, 1, 2]);
  assert.deepEqual([...encodeMessage('a')], [0x81, 1, 0x61]);
  assert.deepEqual([...encodePong(Uint8Array.of(7))], [0x8a, 1, 7]);
  assert.deepEqual([...encodeClose(1000)], [0x88, 2, 0x03, 0xe8]);
  assert.deepEqual([...encodeMessage(new Uint8Array(126)).subarray(0, 4)], [0x82, 126, 0, 126]);
  assert.deepEqual([...encodeMessage(new Uint8Array(65_536)).subarray(0, 10)], [0x82, 127, 0, 0, 0, 0, 0, 1, 0, 0]);
});
