import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LatestOnly } from './latest-only.ts';

test('LatestOnly runs at once, then only the newest of what came meanwhile', async () => {
  const seen: string[] = [];
  const gate = Promise.withResolvers<void>();
  const slot = new LatestOnly<string>(async (input) => {
    seen.push(input);
    await gate.promise;
  }, unexpected);
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
  }, unexpected);
  slot.offer(1);
  await slot.idle();
  assert.deepEqual(seen, [1, 2, 3]);
});

for (const [name, fail] of [
  ['rejects', (error: Error) => Promise.reject(error)],
  [
    'throws before its first await',
    (error: Error) => {
      throw error;
    },
  ],
] as const) {
  test(`LatestOnly goes on after work that ${name}, also with the input that came meanwhile`, async () => {
    const seen: string[] = [];
    const unhandled: unknown[] = [];
    const bug = new TypeError('a bug');
    const work = (input: string): Promise<void> => {
      seen.push(input);
      if (input === 'a') slot.offer('b');
      return input === 'a' ? fail(bug) : Promise.resolve();
    };
    const slot: LatestOnly<string> = new LatestOnly(work, (error) => void unhandled.push(error));
    slot.offer('a');
    await slot.idle();
    slot.offer('c');
    await slot.idle();
    assert.deepEqual([seen, unhandled], [['a', 'b', 'c'], [bug]]);
  });
}

function unexpected(error: unknown): void {
  throw error;
}
