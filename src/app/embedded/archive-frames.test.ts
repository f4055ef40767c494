import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CriError } from '../../cri/cri-error.ts';
import { decodeFrames, encodeFrames } from './archive-frames.ts';

const PIECES = [new Uint8Array([1, 2, 3]), new Uint8Array(), new Uint8Array([4])];

async function* inPieces(data: Uint8Array, size: number): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < data.byteLength; at += size) yield data.subarray(at, at + size);
}

async function* archive(end?: Error): AsyncGenerator<Uint8Array> {
  yield* PIECES;
  if (end) throw end;
}

async function wireOf(source: AsyncIterable<Uint8Array>): Promise<Uint8Array> {
  return new Uint8Array(Buffer.concat(await Array.fromAsync(encodeFrames(source))));
}

async function received(wire: Uint8Array, size: number): Promise<number[]> {
  return [...Buffer.concat(await Array.fromAsync(decodeFrames(inPieces(wire, size))))];
}

test('decodeFrames() returns what encodeFrames() was given, in chunks of any size', async () => {
  const wire = await wireOf(archive());
  for (let size = 1; size <= wire.byteLength; size++) assert.deepEqual(await received(wire, size), [1, 2, 3, 4]);
});

test('decodeFrames() rejects every truncated stream', async () => {
  const wire = await wireOf(archive());
  for (let length = 0; length < wire.byteLength; length++) {
    await assert.rejects(received(wire.subarray(0, length), 2), { name: 'UnexpectedEofError' }, `${length} bytes`);
  }
});

test('decodeFrames() throws the encoded error', async () => {
  const wire = await wireOf(archive(new CriError('NotFound', 'no image "ä"')));
  await assert.rejects(received(wire, 3), { name: 'CriError', code: 'NotFound', message: 'no image "ä"' });
});

test('decodeFrames() rejects other content', async () => {
  await assert.rejects(received(new TextEncoder().encode('not found\n'), 3), { name: 'UnexpectedEofError' });
});
