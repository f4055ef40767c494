import assert from 'node:assert/strict';
import { test } from 'node:test';
import { gzipSync, zstdCompressSync } from 'node:zlib';
import { decompress } from './decompress.ts';

const text = 'the same words again and again. '.repeat(5000);
const skippable = Buffer.from([0x50, 0x2a, 0x4d, 0x18, 3, 0, 0, 0, 1, 2, 3]);

async function read(bytes: Uint8Array): Promise<string> {
  const chunks = (async function* () {
    for (let start = 0; start < bytes.byteLength; start += 1000) yield bytes.subarray(start, start + 1000);
  })();
  const parts: Uint8Array[] = [];
  for await (const part of decompress(chunks)) parts.push(part);
  return Buffer.concat(parts).toString();
}

const cases: Record<string, Uint8Array> = {
  'plain bytes': Buffer.from(text),
  gzip: gzipSync(text),
  'gzip in several members': Buffer.concat([gzipSync(text.slice(0, 100)), gzipSync(text.slice(100))]),
  zstd: zstdCompressSync(text),
  'zstd in several frames': Buffer.concat([zstdCompressSync(text.slice(0, 100)), zstdCompressSync(text.slice(100))]),
  'zstd with skippable frames': Buffer.concat([skippable, zstdCompressSync(text), skippable]),
};
for (const [name, bytes] of Object.entries(cases)) {
  test(`decompress() reads ${name}`, async () => assert.equal(await read(bytes), text));
}

test('decompress() reads data shorter than the magic bytes', async () => {
  assert.equal(await read(Buffer.from('ab')), 'ab');
  assert.equal(await read(new Uint8Array()), '');
});

for (const [name, bytes] of Object.entries({ gzip: gzipSync(text), zstd: zstdCompressSync(text) })) {
  test(`decompress() fails for truncated or damaged ${name}`, async () => {
    await assert.rejects(read(bytes.subarray(0, bytes.byteLength - 10)));
    const damaged = Uint8Array.from(bytes);
    damaged.fill(0xa5, Math.floor(bytes.byteLength / 2), Math.floor(bytes.byteLength / 2) + 20);
    await assert.rejects(read(damaged));
  });
}
