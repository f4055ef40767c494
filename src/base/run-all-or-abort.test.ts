import assert from 'node:assert/strict';
import { test } from 'node:test';
import { runAllOrAbort } from './run-all-or-abort.ts';

const never = new AbortController().signal;

test('runAllOrAbort() returns every result in order', async () => {
  assert.deepEqual(await runAllOrAbort([async () => 1, async () => 'two'], never), [1, 'two']);
});

test('runAllOrAbort() aborts the others after an error and throws it when they have settled', async () => {
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
  await assert.rejects(runAllOrAbort([slow, failing], never), { message: 'first' });
  assert.deepEqual(seen, ['slow has ended']);
});

test('runAllOrAbort() aborts with the signal', async () => {
  const reason = new Error('enough');
  const work = async (signal: AbortSignal): Promise<void> => signal.throwIfAborted();
  await assert.rejects(runAllOrAbort([work], AbortSignal.abort(reason)), reason);
});
