import assert from 'node:assert/strict';
import { test } from 'node:test';
import { wholeLines } from './json-lines.ts';

const TEXT = 'one\n\n{"grüß":"…"}\nlast\ncut of';

async function* inPieces(text: string, size: number): AsyncGenerator<Uint8Array> {
  const bytes = new TextEncoder().encode(text);
  for (let start = 0; start < bytes.length; start += size) yield bytes.subarray(start, start + size);
}

for (const size of [1, 2, 3, 5, 7, 11, 1000]) {
  test(`wholeLines() puts together what came in pieces of ${size} bytes`, async () => {
    const lines = await Array.fromAsync(wholeLines(inPieces(TEXT, size)));
    assert.deepEqual(lines, ['one', '{"grüß":"…"}', 'last']);
  });
}

test('wholeLines() has no line of nothing', async () => {
  assert.deepEqual(await Array.fromAsync(wholeLines(inPieces('', 1))), []);
});
