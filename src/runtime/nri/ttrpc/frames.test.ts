import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { type FrameFormat, FrameReader } from './frame-reader.ts';
import { encodeMuxFrames, MUX_FORMAT } from './mux-frame.ts';
import { encodeMessage, MAX_MESSAGE_BYTES, MESSAGE_FORMAT } from './ttrpc-frame.ts';

const payloads = fc.oneof(
  fc.uint8Array({ maxLength: 40 }),
  fc.integer({ min: 4080, max: 9000 }).map((length) => new Uint8Array(length).fill(length % 251)),
);
const messages = fc.record({
  streamId: fc.nat(0xffff_ffff),
  type: fc.constantFrom(1, 2, 3),
  flags: fc.nat(255),
  payload: payloads,
});

test('frames are read as written, for any chunk size', () => {
  fc.assert(
    fc.property(fc.array(messages, { maxLength: 5 }), fc.array(fc.nat(5000), { maxLength: 30 }), (sent, cuts) => {
      const bytes = Buffer.concat(sent.map(({ payload, ...header }) => encodeMessage(header, payload)));
      const got = readInPieces(MESSAGE_FORMAT, bytes, cuts).map(({ header, payload }) => ({ header, payload }));
      const expected = sent.map(({ payload, ...header }) => ({
        header: { ...header, length: payload.byteLength },
        payload,
      }));
      assert.deepEqual(got.map(plain), expected.map(plain));
    }),
  );
});

test('messages of two connections over one socket keep their order', () => {
  const tagged = fc.tuple(fc.constantFrom(1, 2), payloads);
  fc.assert(
    fc.property(fc.array(tagged, { maxLength: 6 }), fc.array(fc.nat(5000), { maxLength: 30 }), (sent, cuts) => {
      const bytes = Buffer.concat(sent.map(([connection, payload]) => encodeMuxFrames(connection, payload)));
      const frames = readInPieces(MUX_FORMAT, bytes, cuts);
      for (const connection of [1, 2]) {
        const got = frames.filter(({ header }) => header.connection === connection).map(({ payload }) => payload);
        const expected = sent.filter(([to]) => to === connection).map(([, payload]) => payload);
        assert.deepEqual(Buffer.concat(got), Buffer.concat(expected));
      }
    }),
  );
});

test('encodeMessage() writes the header of ttrpc', () => {
  const bytes = encodeMessage({ streamId: 3, type: 1, flags: 2 }, new Uint8Array([9, 8]));
  assert.deepEqual([...bytes], [0, 0, 0, 2, 0, 0, 0, 3, 1, 2, 9, 8]);
});

test('encodeMuxFrames() writes one frame, or two when a message is longer than 4096 bytes', () => {
  assert.deepEqual([...encodeMuxFrames(2, new Uint8Array([7]))], [0, 0, 0, 2, 0, 0, 0, 1, 7]);
  const lengthsOf = (length: number): number[] =>
    new FrameReader(MUX_FORMAT).push(encodeMuxFrames(1, new Uint8Array(length))).map(({ header }) => header.length);
  assert.deepEqual(lengthsOf(4096), [4096]);
  assert.deepEqual(lengthsOf(4097), [4096, 1]);
  assert.deepEqual(lengthsOf(3_000_000), [4096, 2_995_904]);
});

test('FrameReader rejects a frame that is too long when it reads the header', () => {
  const header = new Uint8Array(10);
  new DataView(header.buffer).setUint32(0, MAX_MESSAGE_BYTES + 1);
  const reader = new FrameReader(MESSAGE_FORMAT);
  reader.push(header.subarray(0, 9));
  assert.throws(() => reader.push(header.subarray(9)), {
    name: 'ProtocolError',
    message: 'frame of 4194305 bytes exceeds the limit of 4194304',
  });
});

function readInPieces<H extends { readonly length: number }>(
  format: FrameFormat<H>,
  bytes: Uint8Array,
  cuts: readonly number[],
): Array<{ header: H; payload: Uint8Array }> {
  const reader = new FrameReader(format);
  const positions = [...cuts.map((cut) => Math.min(cut, bytes.byteLength)), bytes.byteLength].sort((a, b) => a - b);
  return positions.flatMap((end, index) => [...reader.push(bytes.subarray(positions[index - 1] ?? 0, end))]);
}

function plain<H>({ header, payload }: { header: H; payload: Uint8Array }): { header: H; payload: string } {
  return { header, payload: Buffer.from(payload).toString('hex') };
}
