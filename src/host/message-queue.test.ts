import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type FlowControl, MessageQueue } from './message-queue.ts';

const quiet: FlowControl = { pause: () => {}, resume: () => {} };

async function readAll(queue: MessageQueue): Promise<number[]> {
  const read: number[] = [];
  for await (const [first = -1] of queue) read.push(first);
  return read;
}

test('MessageQueue yields messages from before the end, in order, and none after it', async () => {
  const queue = new MessageQueue(quiet);
  queue.push(Uint8Array.of(1));
  const reading = readAll(queue);
  await Promise.resolve();
  queue.push(Uint8Array.of(2));
  queue.push(Uint8Array.of(3));
  queue.end();
  queue.push(Uint8Array.of(4));
  assert.deepEqual(await reading, [1, 2, 3]);
});

test('MessageQueue throws an error after the messages before it', async () => {
  const queue = new MessageQueue(quiet);
  queue.push(Uint8Array.of(1));
  queue.fail(new Error('reset'));
  queue.end();
  const messages = queue[Symbol.asyncIterator]();
  assert.deepEqual(await messages.next(), { done: false, value: Uint8Array.of(1) });
  await assert.rejects(messages.next(), { message: 'reset' });
});

test('MessageQueue pauses the sender while too much is unread', async () => {
  let state = 'flowing';
  const queue = new MessageQueue({
    pause: () => {
      state = 'paused';
    },
    resume: () => {
      state = 'flowing';
    },
  });
  const messages = queue[Symbol.asyncIterator]();
  const states: string[] = [];
  for (const size of [1024 * 1024 - 1000, 1000]) {
    queue.push(new Uint8Array(size));
    states.push(state);
  }
  for (let i = 0; i < 2; i++) {
    await messages.next();
    states.push(state);
  }
  assert.deepEqual(states, ['flowing', 'paused', 'paused', 'flowing']);
});

test('MessageQueue pauses the sender of many small or empty messages too', () => {
  let sent = 0;
  let isPaused = false;
  const pause = (): void => {
    isPaused = true;
  };
  const queue = new MessageQueue({ pause, resume: () => {} });
  for (; !isPaused && sent < 100_000; sent++) queue.push(new Uint8Array());
  assert.ok(sent < 10_000, `${sent} messages are queued`);
});
