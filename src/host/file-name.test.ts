import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { bytesOfFileName, fileNameLength, fileNameOf } from './file-name.ts';

const cases: Record<string, { bytes: readonly number[]; name: string }> = {
  'a plain name': { bytes: [0x61, 0xc3, 0xa9], name: 'aé' },
  'Latin-1': { bytes: [0x61, 0xe9], name: 'a\udce9' },
  'a character that is cut off': { bytes: [0xf0, 0x9f, 0x98], name: '\udcf0\udc9f\udc98' },
  'an encoded surrogate': { bytes: [0xed, 0xb3, 0xa9], name: '\udced\udcb3\udca9' },
  'a byte behind a character of two units': { bytes: [0xf0, 0x9f, 0x98, 0x80, 0xff], name: '😀\udcff' },
  'a byte order mark': { bytes: [0xef, 0xbb, 0xbf, 0x61], name: '\ufeffa' },
};
for (const [name, { bytes, name: text }] of Object.entries(cases)) {
  test(`fileNameOf() ${name}`, () => {
    assert.equal(fileNameOf(Uint8Array.from(bytes)), text);
    assert.deepEqual(Buffer.from(bytesOfFileName(text)), Buffer.from(bytes));
    assert.equal(fileNameLength(text), bytes.length);
  });
}

test('fileNameOf() is reversible for any bytes', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 12 }), (bytes) => {
      assert.deepEqual(Buffer.from(bytesOfFileName(fileNameOf(bytes))), Buffer.from(bytes));
      assert.equal(JSON.parse(JSON.stringify(fileNameOf(bytes))), fileNameOf(bytes));
    }),
  );
});
