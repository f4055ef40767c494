import assert from 'node:assert/strict';
import { test } from 'node:test';
import { collectBytes, collectText, limitBytes } from './byte-chunks.ts';

const TEXT = '\ufeffgrüß …';

async function* inPieces(text: string, size: number): AsyncGenerator<Uint8Array> {
  const bytes = new TextEncoder().encode(text);
  for (let start = 0; start < bytes.length; start += size) yield bytes.subarray(start, start + size);
}

for (const size of [1, 2, 3, 1000]) {
  test(`collectText() and collectBytes() put together what came in pieces of ${size} bytes`, async () => {
    assert.equal(await collectText(inPieces(TEXT, size)), TEXT);
    assert.deepEqual([...(await collectBytes(inPieces(TEXT, size)))], [...Buffer.from(TEXT)]);
  });
}

test('collectText() of an empty stream is an empty text', async () => {
  assert.equal(await collectText(inPieces('', 1)), '');
});

test('limitBytes() lets through what is as long as it may be, and nothing longer', async () => {
  const read = (text: string) => collectText(limitBytes(inPieces(text, 2), 4, () => new Error('too long')));
  assert.equal(await read('abcd'), 'abcd');
  await assert.rejects(read('abcde'), { message: 'too long' });
});
