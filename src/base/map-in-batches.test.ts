import assert from 'node:assert/strict';
import test from 'node:test';
import { mapInBatches } from './map-in-batches.ts';

test('mapInBatches() runs at most one batch at a time and returns results in order', async () => {
  let atOnce = 0;
  let most = 0;
  const results = await mapInBatches([1, 2, 3, 4, 5], 2, async (item) => {
    most = Math.max(most, ++atOnce);
    await Promise.resolve();
    atOnce--;
    return item * 10;
  });
  assert.deepEqual([results, most], [[10, 20, 30, 40, 50], 2]);
  assert.deepEqual(await mapInBatches([], 2, async () => 1), []);
});

test('mapInBatches() rejects when its batch has settled and starts no other', async () => {
  const ended: number[] = [];
  const work = async (item: number): Promise<void> => {
    if (item === 1) throw new Error('first');
    await Promise.resolve();
    ended.push(item);
    if (item === 2) throw new Error('second');
  };
  await assert.rejects(mapInBatches([1, 2, 3, 4], 3, work), { message: 'first' });
  assert.deepEqual(ended, [2, 3]);
});
