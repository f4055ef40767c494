import assert from 'node:assert/strict';
import { test } from 'node:test';
import { waitForAll } from './wait-for-all.ts';

const late = async (work: () => void): Promise<void> => {
  await Promise.resolve();
  work();
};

test('waitForAll() waits for all, also when the first fails', async () => {
  const done: string[] = [];
  const failure = new Error('first');
  await assert.rejects(waitForAll([Promise.reject(failure), late(() => void done.push('second'))]), failure);
  assert.deepEqual(done, ['second']);
});

test('waitForAll() throws several errors, each once, and flattens aggregates', async () => {
  const [a, b] = [new Error('a'), new Error('b')];
  const both = waitForAll([Promise.reject(a), Promise.reject(b)]);
  await assert.rejects(waitForAll([Promise.reject(a), both, Promise.reject(b)]), (error) => {
    assert.ok(error instanceof AggregateError);
    assert.deepEqual(error.errors, [a, b]);
    assert.equal(error.message, 'several operations failed: a; b');
    return true;
  });
});
