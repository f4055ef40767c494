import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Semaphore } from './semaphore.ts';

const turn = () => new Promise<void>((resolve) => process.nextTick(() => queueMicrotask(resolve)));

function scene(count: number) {
  const slots = new Semaphore(count);
  const begun: string[] = [];
  const start = (name: string, signal = new AbortController().signal) => {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const done = slots.run(() => {
      begun.push(name);
      return promise;
    }, signal);
    done.catch(() => {});
    return { end: resolve, fail: reject, done };
  };
  return { begun, start };
}

test('Semaphore admits a limited number, the others in order', async () => {
  const { begun, start } = scene(2);
  const [a, b] = [start('a'), start('b'), start('c'), start('d')];
  await turn();
  assert.deepEqual(begun, ['a', 'b']);
  b.end();
  await turn();
  assert.deepEqual(begun, ['a', 'b', 'c']);
  a.fail(new Error('broken'));
  await assert.rejects(a.done, { message: 'broken' });
  await turn();
  assert.deepEqual(begun, ['a', 'b', 'c', 'd']);
});

test('Semaphore skips a waiter that aborted', async () => {
  const { begun, start } = scene(1);
  const leave = new AbortController();
  const a = start('a');
  const b = start('b', leave.signal);
  start('c');
  leave.abort(new Error('enough'));
  await assert.rejects(b.done, { message: 'enough' });
  a.end();
  await turn();
  assert.deepEqual(begun, ['a', 'c']);
});

test('Semaphore loses no permit that is granted while its waiter aborts', async () => {
  const { begun, start } = scene(1);
  const leave = new AbortController();
  const a = start('a');
  const b = start('b', leave.signal);
  a.end();
  await a.done;
  leave.abort(new Error('enough'));
  b.end();
  await b.done.catch(() => {});
  start('c');
  await turn();
  assert.ok(begun.includes('c'));
});
