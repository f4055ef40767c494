import assert from 'node:assert/strict';
import { test } from 'node:test';
import { limited, wholeBytes, wholeText } from './byte-chunks.ts';

const TEXT = '\ufeffgrüß …';

async function* inPieces(text: string, size: number): AsyncGenerator<Uint8Array> {
  const bytes = new TextEncoder().encode(text);
  for (let start = 0; start < bytes.length; start += size) yield bytes.subarray(start, start + size);
}

for (const size of [1, 2, 3, 1000]) {
  test(`wholeText() and wholeBytes() put together what came in pieces of ${size} bytes`, async () => {
    assert.equal(await wholeText(inPieces(TEXT, size)), TEXT);
    assert.deepEqual([...(await wholeBytes(inPieces(TEXT, size)))], [...Buffer.from(TEXT)]);
  });
}

test('wholeText() of nothing is no text', async () => {
  assert.equal(await wholeText(inPieces('', 1)), '');
});

test('limited() lets through what is as long as it may be, and nothing longer', async () => {
  const read = (text: string) => wholeText(limited(inPieces(text, 2), 4, () => new Error('too long')));
  assert.equal(await read('abcd'), 'abcd');
  await assert.rejects(read('abcde'), { message: 'too long' });
});
