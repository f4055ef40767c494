import assert from 'node:assert/strict';
import { test } from 'node:test';
import { together } from './together.ts';

const never = new AbortController().signal;

test('together() gives every result in order', async () => {
  assert.deepEqual(await together([async () => 1, async () => 'two'], never), [1, 'two']);
});

test('together() aborts the others after a failure, and throws it when they have ended', async () => {
  const seen: string[] = [];
  const slow = (signal: AbortSignal): Promise<void> =>
    new Promise((_, reject) => {
      signal.addEventListener('abort', () => {
        queueMicrotask(() => {
          seen.push('slow has ended');
          reject(signal.reason);
        });
      });
    });
  const failing = async (): Promise<void> => {
    throw new Error('first');
  };
  await assert.rejects(together([slow, failing], never), { message: 'first' });
  assert.deepEqual(seen, ['slow has ended']);
});

test('together() ends with the signal', async () => {
  const reason = new Error('enough');
  const work = async (signal: AbortSignal): Promise<void> => signal.throwIfAborted();
  await assert.rejects(together([work], AbortSignal.abort(reason)), reason);
});
