import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { FrameDecoder } from './frame-decoder.ts';
import { type SpdyFrame, SpdyProtocolError } from './spdy-frames.ts';

/** One connection as encoded by Go (github.com/moby/spdystream/spdy). */
const GO: readonly (readonly [hex: string, frame: SpdyFrame])[] = [
  [
    '80030001000000290000000100000000000078f9e3c6a7c26260606004a7b392a2d4c45c6851c29a0a0a6800000000ffff',
    { kind: 'synStream', streamId: 1, headers: { streamtype: ['error'] }, fin: false, unidirectional: false },
  ],
  [
    '800300010300001700000003000000006000c22e555c92929907000000ffff',
    { kind: 'synStream', streamId: 3, headers: { streamtype: ['stdin'] }, fin: true, unidirectional: true },
  ],
  ['800300020000000e000000016260606000000000ffff', { kind: 'synReply', streamId: 1, headers: {}, fin: false }],
  [
    '800300080100001c00000001824ab355e8e626e655828bf5bc548692f27c00000000ffff',
    { kind: 'headers', streamId: 1, headers: { 'x-many': ['one', 'two'] }, fin: true },
  ],
  [
    '000000010000000568656c6c6f',
    { kind: 'data', streamId: 1, payload: new Uint8Array(Buffer.from('hello')), fin: false },
  ],
  ['80030003000000080000000500000005', { kind: 'rstStream', streamId: 5, status: 5 }],
  ['800300040000000c000000010000000700010000', { kind: 'settings' }],
  ['800300060000000400000007', { kind: 'ping', id: 7 }],
  ['80030007000000080000000300000001', { kind: 'goAway', lastStreamId: 3, status: 1 }],
  ['80030009000000080000000100001000', { kind: 'windowUpdate', streamId: 1, bytes: 4096 }],
  ['0000000101000000', { kind: 'data', streamId: 1, payload: new Uint8Array(), fin: true }],
];

const goBytes = Buffer.from(GO.map(([hex]) => hex).join(''), 'hex');
const goFrames = GO.map(([, frame]) => frame);

/** Joins the parts of data frames. */
function decodeAll(chunks: readonly Uint8Array[], decoder = new FrameDecoder()): SpdyFrame[] {
  const all: SpdyFrame[] = [];
  for (const frame of chunks.flatMap((chunk) => [...decoder.frames(chunk)])) {
    const last = all.at(-1);
    if (frame.kind === 'data' && last?.kind === 'data') {
      all.splice(-1, 1, { ...frame, payload: Uint8Array.of(...last.payload, ...frame.payload) });
    } else {
      all.push(frame.kind === 'data' ? { ...frame, payload: Uint8Array.from(frame.payload) } : frame);
    }
  }
  return all;
}

test('FrameDecoder decodes frames of Go', () => {
  assert.deepEqual(decodeAll([goBytes]), goFrames);
});

test('FrameDecoder decodes frames that are split anywhere', () => {
  assert.deepEqual(decodeAll([...goBytes].map((byte) => Uint8Array.of(byte))), goFrames);
  fc.assert(
    fc.property(fc.array(fc.nat(goBytes.length), { maxLength: 30 }), (cuts) => {
      const ends = [...cuts.toSorted((a, b) => a - b), goBytes.length];
      const chunks = ends.map((end, index) => goBytes.subarray(ends[index - 1] ?? 0, end));
      assert.deepEqual(decodeAll(chunks), goFrames);
    }),
    { numRuns: 500 },
  );
});

test('FrameDecoder yields data as it arrives, without waiting for the whole frame', () => {
  const decoder = new FrameDecoder();
  const chunk = Buffer.from('00000001010000ff6162', 'hex');
  const pieces = [...decoder.frames(chunk), ...decoder.frames(Buffer.alloc(253))];
  assert.deepEqual(
    pieces.map((frame) => frame.kind === 'data' && [frame.payload.length, frame.fin]),
    [
      [2, false],
      [253, true],
    ],
  );
  const [first] = pieces;
  assert.ok(first?.kind === 'data' && first.payload.buffer === chunk.buffer); // a view, not a copy
});

test('FrameDecoder skips unknown frames', () => {
  assert.deepEqual(decodeAll([Buffer.from('8003000a0000000461626364800300060000000400000001', 'hex')]), [
    { kind: 'ping', id: 1 },
  ]);
});

const refused: Record<string, [hex: string, message: RegExp]> = {
  'another version': ['800200060000000400000001', /of version 2/],
  HTTP: [Buffer.from('HTTP/1.1 404').toString('hex').replace(/^48/, 'c8'), /of version 18516/],
  'data of stream 0': ['0000000000000001', /has stream id 0/],
  'a control frame of stream 0': ['80030003000000080000000000000005', /has stream id 0/],
  'a control frame that is too large': ['8003000100010001', /has 65537 bytes/],
  'a control frame that is too short': ['800300070000000400000001', /too short/],
  'an empty control frame': ['8003000600000000', /too short/],
  'headers with another dictionary': ['80030002000000060000000178bb', /another dictionary/],
};

for (const [name, [hex, message]] of Object.entries(refused)) {
  test(`FrameDecoder rejects ${name}`, () => {
    assert.throws(() => decodeAll([Buffer.from(hex, 'hex')]), { name: 'SpdyProtocolError', message });
  });
}

test('FrameDecoder survives garbage', () => {
  const wild = fc.array(fc.uint8Array({ maxLength: 200 }), { maxLength: 10 });
  const damaged = fc
    .array(fc.tuple(fc.nat(goBytes.length - 1), fc.nat(255)), { minLength: 1, maxLength: 8 })
    .map((changes) => {
      const bytes = Buffer.from(goBytes);
      for (const [at, byte] of changes) bytes[at] = byte;
      return [bytes];
    });
  fc.assert(
    fc.property(fc.oneof(wild, damaged), (chunks) => {
      try {
        decodeAll(chunks);
      } catch (error) {
        assert.ok(error instanceof SpdyProtocolError, String(error));
      }
    }),
    { numRuns: 3000 },
  );
});
