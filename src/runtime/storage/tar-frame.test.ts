import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { test } from 'node:test';
import fc from 'fast-check';
import { createMemoryHost } from '../../host/fake/memory-host.ts';
import { ByteReader } from '../images/archive/byte-reader.ts';
import { readTar } from '../images/archive/read-tar.ts';
import { buildLayer } from '../images/fake/image-archives.ts';
import { rebuildTar } from './rebuild-tar.ts';
import { TarFrameWriter } from './tar-frame-writer.ts';

/** Passes an archive through a frame writer in chunks of this size, and rebuilds it. */
async function roundTrip(archive: Uint8Array, chunkBytes: number): Promise<Buffer> {
  const { fs } = createMemoryHost();
  const frame = new TarFrameWriter(fs, '/frame');
  const chunks = (async function* () {
    for (let at = 0; at < archive.byteLength; at += chunkBytes) yield archive.subarray(at, at + chunkBytes);
  })();
  const bytes = new ByteReader(frame.tee(chunks));
  const contents = new Map<string, Buffer>();
  for await (const member of readTar(bytes)) {
    const isFile = member.node.kind === 'file' && !member.name.includes('.wh.');
    await frame.member(member, isFile ? member.name : undefined);
    if (member.node.kind === 'file' && isFile) contents.set(member.name, await collected(member.node.content));
  }
  await bytes.drain();
  assert.equal(await frame.finish(), archive.byteLength);
  const kept = await fs.readFile('/frame');
  const contentOf = (path: string) => (extent: { readonly offset: number; readonly length: number }) =>
    once(contents.get(path)?.subarray(extent.offset, extent.offset + extent.length) ?? Buffer.alloc(0));
  return collected(rebuildTar(once(kept), contentOf));
}

async function* once(bytes: Uint8Array): AsyncGenerator<Uint8Array, void, void> {
  yield bytes;
}

async function collected(chunks: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const parts: Uint8Array[] = [];
  for await (const chunk of chunks) parts.push(chunk);
  return Buffer.concat(parts);
}

test('a frame and the files give the archive again, for any chunk size', async () => {
  const archive = await buildLayer({
    a: null,
    'a/file': 'x'.repeat(5000),
    'a/empty': '',
    'a/.wh.gone': 'this is not stored'.repeat(90),
    link: { kind: 'symlink', target: 'a/file' },
    [`${'long/'.repeat(40)}name`]: 'y',
  });
  const padded = Buffer.concat([archive, Buffer.alloc(9000), Buffer.from('junk')]);
  for (const chunk of [1, 511, 512, 513, 4096, 1_000_000]) {
    assert.deepEqual(await roundTrip(padded, chunk), padded, `${chunk}`);
  }
});

test('a frame contains no contents of files', async () => {
  const { fs } = createMemoryHost();
  const archive = await buildLayer({
    big: randomBytes(60_000).toString('latin1'),
  });
  const frame = new TarFrameWriter(fs, '/frame');
  const bytes = new ByteReader(frame.tee(once(archive)));
  for await (const member of readTar(bytes)) await frame.member(member, member.name);
  await bytes.drain();
  await frame.finish();
  assert.ok((await fs.readFile('/frame')).byteLength < 500);
});

test('a frame with more than one block, and any mix of members, is exact', async () => {
  const name = fc.stringMatching(/^[a-z]{1,200}$/);
  const files = fc.dictionary(name, fc.string({ maxLength: 1500 }), { maxKeys: 30 });
  await fc.assert(
    fc.asyncProperty(files, fc.integer({ min: 1, max: 3000 }), async (given, chunk) => {
      const archive = await buildLayer(given);
      assert.deepEqual(await roundTrip(archive, chunk), Buffer.from(archive));
    }),
    { numRuns: 50 },
  );
  const many = await buildLayer(Object.fromEntries(Array.from({ length: 3000 }, (_, index) => [`f${index}`, 'z'])));
  assert.deepEqual(await roundTrip(many, 100_000), Buffer.from(many));
});

test('a file that became shorter is an error', async () => {
  const { fs } = createMemoryHost();
  const archive = await buildLayer({ file: 'text' });
  const frame = new TarFrameWriter(fs, '/frame');
  const bytes = new ByteReader(frame.tee(once(archive)));
  for await (const member of readTar(bytes)) await frame.member(member, member.name);
  await bytes.drain();
  await frame.finish();
  const made = rebuildTar(once(await fs.readFile('/frame')), () => () => once(Buffer.from('te')));
  await assert.rejects(collected(made), { name: 'UnexpectedEofError', message: /file: file became shorter/ });
});
