import assert from 'node:assert/strict';
import { test } from 'node:test';
import { constants, createDeflate, type Deflate, deflateSync, inflateSync } from 'node:zlib';
import fc from 'fast-check';
import { HEADER_DICTIONARY, HEADER_DICTIONARY_ID, HeaderReader, HeaderWriter } from './header-blocks.ts';
import type { SpdyHeaders } from './spdy-session.ts';

const headerValues = fc.array(
  fc.string({ maxLength: 300 }).map((text) => text.replaceAll('\0', ' ')),
  {
    minLength: 1,
    maxLength: 3,
  },
);
const someHeaders = fc
  .dictionary(fc.string({ minLength: 1, maxLength: 40 }), headerValues, { maxKeys: 5 })
  .map((headers): SpdyHeaders => Object.fromEntries(Object.entries(headers).map(([k, v]) => [k.toLowerCase(), v])));

test('HEADER_DICTIONARY matches the specification', () => {
  const head = deflateSync('', { dictionary: HEADER_DICTIONARY });
  assert.deepEqual([HEADER_DICTIONARY.length, head.readUInt32BE(2)], [1423, HEADER_DICTIONARY_ID]);
});

test('HeaderWriter writes all blocks as one zlib stream, each flushed at its end', () => {
  const writer = new HeaderWriter();
  const blocks = [writer.write({ streamtype: ['error'] }), writer.write({}), writer.write({ port: ['80'] })];
  for (const block of blocks) assert.deepEqual([...block.subarray(-5)], [0, 0, 0, 0xff, 0xff]);
  const options = { dictionary: HEADER_DICTIONARY, finishFlush: constants.Z_SYNC_FLUSH };
  assert.equal(
    inflateSync(Buffer.concat(blocks), options).toString('latin1'),
    '\0\0\0\x01\0\0\0\x0astreamtype\0\0\0\x05error\0\0\0\0\0\0\0\x01\0\0\0\x04port\0\0\0\x0280',
  );
});

test('HeaderReader reads any headers that HeaderWriter writes', () => {
  fc.assert(
    fc.property(fc.array(someHeaders, { maxLength: 20 }), (all) => {
      const [writer, reader] = [new HeaderWriter(), new HeaderReader()];
      for (const headers of all) assert.deepEqual(reader.read(writer.write(headers)), headers);
    }),
    { numRuns: 200 },
  );
});

test('HeaderReader reads blocks that refer to earlier ones, far beyond the window', async () => {
  const deflate = createDeflate({ dictionary: HEADER_DICTIONARY, level: 9 });
  const reader = new HeaderReader();
  for (let index = 0; index < 60; index++) {
    const headers = { requestid: [String(index)], 'x-long': [`${'0123456789'.repeat(100)}${index % 7}`] };
    assert.deepEqual(reader.read(await flushed(deflate, plainBlock(headers))), headers);
  }
  deflate.close();
});

test('HeaderReader accepts a peer without a dictionary', () => {
  const block = deflateSync(plainBlock({ port: ['80'] }), { finishFlush: constants.Z_SYNC_FLUSH });
  assert.deepEqual(new HeaderReader().read(block), { port: ['80'] });
});

test('HeaderReader returns lower-case names', () => {
  const block = deflateSync(plainBlock({ Port: ['80'] }), { finishFlush: constants.Z_SYNC_FLUSH });
  assert.deepEqual(new HeaderReader().read(block), { port: ['80'] });
});

test('HeaderReader accepts `__proto__` as a name', () => {
  const { port, ...rest } = new HeaderReader().read(
    new HeaderWriter().write(JSON.parse('{"__proto__":["x"],"port":["80"]}')),
  );
  assert.deepEqual([port, Object.entries(rest)], [['80'], [['__proto__', ['x']]]]);
});

const flush = { finishFlush: constants.Z_SYNC_FLUSH, dictionary: HEADER_DICTIONARY };
const counted = (count: number, text: string): Uint8Array => {
  const plain = Buffer.alloc(4 + text.length, text.padStart(4 + text.length));
  plain.writeUInt32BE(count, 0);
  return deflateSync(plain, flush);
};
const refused: Record<string, [block: Uint8Array, message: RegExp]> = {
  'no bytes': [new Uint8Array(), /not compressed with zlib/],
  'data that is not zlib': [Buffer.from('GET / HTTP/1.1'), /not compressed with zlib/],
  'another dictionary': [
    deflateSync('x', { ...flush, dictionary: Buffer.from('another') }),
    /another dictionary, not that of SPDY/,
  ],
  'a block that is not flushed': [
    deflateSync(plainBlock({ port: ['80'] }), { dictionary: HEADER_DICTIONARY }),
    /does not end flushed/,
  ],
  'a block that is broken': [Uint8Array.of(0x78, 0x9c, 0xff, 0, 0, 0xff, 0xff), /cannot be inflated/],
  'a compression bomb': [deflateSync(Buffer.alloc(2 ** 26), flush), /cannot be inflated/],
  'a block of more than 8 KiB': [deflateSync(Buffer.alloc(8 * 1024 + 1), flush), /cannot be inflated/],
  'a name count that is too large': [counted(2, '\0\0\0\x01a\0\0\0\x01b'), /is cut off/],
  'very many names': [counted(33, ''), /a header block has 33 names/],
  'a length beyond the end': [counted(1, '\0\0\0\x09'), /is cut off/],
  'a long name': [deflateSync(plainBlock({ ['n'.repeat(1025)]: ['x'] }), flush), /a header has 1025 bytes/],
  'a long value': [deflateSync(plainBlock({ port: ['8'.repeat(1025)] }), flush), /a header has 1025 bytes/],
  'very many values': [deflateSync(plainBlock({ port: Array(17).fill('') }), flush), /header port has too many values/],
  'a duplicate name': [counted(2, '\0\0\0\x01a\0\0\0\x01b\0\0\0\x01A\0\0\0\x01c'), /header a is duplicate/],
};

for (const [name, [block, message]] of Object.entries(refused)) {
  test(`HeaderReader rejects ${name}`, () => {
    assert.throws(() => new HeaderReader().read(block), { name: 'SpdyProtocolError', message });
  });
}

function plainBlock(headers: SpdyHeaders): Uint8Array {
  const entries = Object.entries(headers).map(([name, values]): [string, string] => [name, values.join('\0')]);
  const length = (value: number): Uint8Array => Uint8Array.of(value >>> 24, value >>> 16, value >>> 8, value);
  const words = entries.flat().flatMap((word) => [length(Buffer.byteLength(word)), Buffer.from(word)]);
  return Buffer.concat([length(entries.length), ...words]);
}

function flushed(deflate: Deflate, plain: Uint8Array): Promise<Uint8Array> {
  return new Promise((resolve) => {
    deflate.write(plain);
    deflate.flush(constants.Z_SYNC_FLUSH, () => {
      const chunks: Uint8Array[] = [];
      for (let chunk = deflate.read(); chunk; chunk = deflate.read()) chunks.push(chunk);
      resolve(Buffer.concat(chunks));
    });
  });
}
