import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Image } from '../../../cri/generated/runtime-v1.ts';
import { nodeImages } from './node-images.ts';

const image = (id: string, size: number, tags: readonly string[] = [`${id}:1`]): Image =>
  Image.fromPartial({ id, size: BigInt(size), repoTags: [...tags], repoDigests: [`${id}@sha256:0`] });

test('nodeImages() is sorted by size, then by id', () => {
  const shown = nodeImages([image('a', 1), image('b', 3), image('c', 1)], -1);
  assert.deepEqual(shown, [
    { names: ['b@sha256:0', 'b:1'], sizeBytes: 3 },
    { names: ['c@sha256:0', 'c:1'], sizeBytes: 1 },
    { names: ['a@sha256:0', 'a:1'], sizeBytes: 1 },
  ]);
});

test('nodeImages() limits the number of images and of their names', () => {
  const shown = nodeImages([image('a', 2, ['a:1', 'a:2', 'a:3', 'a:4', 'a:5']), image('b', 1)], 1);
  assert.deepEqual(shown, [{ names: ['a@sha256:0', 'a:1', 'a:2', 'a:3', 'a:4'], sizeBytes: 2 }]);
  assert.deepEqual(nodeImages([image('a', 2)], 0), []);
});
