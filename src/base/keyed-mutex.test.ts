import assert from 'node:assert/strict';
import { test } from 'node:test';
import { KeyedMutex } from './keyed-mutex.ts';

test('KeyedMutex runs calls of one key in order, also after errors, and other keys in parallel', async () => {
  const sequencer = new KeyedMutex();
  const seen: string[] = [];
  const gate = Promise.withResolvers<void>();
  const first = sequencer.run('a', async () => {
    await gate.promise;
    seen.push('a1');
    throw new Error('a1');
  });
  const second = sequencer.run('a', async () => seen.push('a2'));
  await sequencer.run('b', async () => seen.push('b'));
  gate.resolve();
  await assert.rejects(first, /a1/);
  await second;
  assert.deepEqual(seen, ['b', 'a1', 'a2']);
});
