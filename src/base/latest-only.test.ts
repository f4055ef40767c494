import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LatestOnly } from './latest-only.ts';

test('LatestOnly runs at once, then only the newest of what came meanwhile', async () => {
  const seen: string[] = [];
  const gate = Promise.withResolvers<void>();
  const slot = new LatestOnly<string>(async (input) => {
    seen.push(input);
    await gate.promise;
  });
  slot.offer('a');
  slot.offer('b');
  slot.offer('c');
  assert.deepEqual(seen, ['a']);
  gate.resolve();
  await slot.idle();
  assert.deepEqual(seen, ['a', 'c']);
});

test('LatestOnly runs again for an offer made by its own work', async () => {
  const seen: number[] = [];
  const slot: LatestOnly<number> = new LatestOnly(async (input) => {
    seen.push(input);
    if (input < 3) slot.offer(input + 1);
  });
  slot.offer(1);
  await slot.idle();
  assert.deepEqual(seen, [1, 2, 3]);
});
