import assert from 'node:assert/strict';
import { test } from 'node:test';
import { AsyncQueue } from './async-queue.ts';

test('read() yields items pushed before and during the read, in order', async () => {
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

test('fail() throws the first reason after the queued items', async () => {
  const queue = new AsyncQueue<number>();
  const reader = queue.read();
  const received: number[] = [];
  const reading = (async () => {
    for await (const item of reader) received.push(item);
  })();
  queue.push(1);
  queue.fail(new Error('first'));
  queue.fail(new Error('second'));
  queue.push(2);
  await assert.rejects(reading, /first/);
  assert.deepEqual(received, [1, 2]);
});
