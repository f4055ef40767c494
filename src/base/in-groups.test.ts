import assert from 'node:assert/strict';
import test from 'node:test';
import { inGroups } from './in-groups.ts';

test('inGroups() works on so many at once, and answers in order', async () => {
  let atOnce = 0;
  let most = 0;
  const results = await inGroups([1, 2, 3, 4, 5], 2, async (item) => {
    most = Math.max(most, ++atOnce);
    await Promise.resolve();
    atOnce--;
    return item * 10;
  });
  assert.deepEqual([results, most], [[10, 20, 30, 40, 50], 2]);
  assert.deepEqual(await inGroups([], 2, async () => 1), []);
});

test('inGroups() fails when its group has ended, and begins no other', async () => {
  const ended: number[] = [];
  const work = async (item: number): Promise<void> => {
    if (item === 1) throw new Error('first');
    await Promise.resolve();
    ended.push(item);
    if (item === 2) throw new Error('second');
  };
  await assert.rejects(inGroups([1, 2, 3, 4], 3, work), { message: 'first' });
  assert.deepEqual(ended, [2, 3]);
});
