import assert from 'node:assert/strict';
import { test } from 'node:test';
import { AsyncQueue } from './async-queue.ts';

test('read() yields what was pushed before and while it waits, in order', async () => {
  const queue = new AsyncQueue<number>();
  queue.push(1);
  queue.push(2);
  const reader = queue.read();
  assert.equal((await reader.next()).value, 1);
  queue.push(3);
  assert.equal((await reader.next()).value, 2);
  assert.equal((await reader.next()).value, 3);
  const waiting = reader.next();
  queue.push(4);
  assert.equal((await waiting).value, 4);
});

test('break() lets the reader have the rest first, then throws the first reason', async () => {
  const queue = new AsyncQueue<number>();
  const reader = queue.read();
  const seen: number[] = [];
  const reading = (async () => {
    for await (const item of reader) seen.push(item);
  })();
  queue.push(1);
  queue.fail(new Error('first'));
  queue.fail(new Error('second'));
  queue.push(2);
  await assert.rejects(reading, /first/);
  assert.deepEqual(seen, [1, 2]);
});
