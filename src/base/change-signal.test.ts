import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ChangeSignal } from './change-signal.ts';

test('ChangeSignal merges notifications that were not read yet', async () => {
  const signal = new ChangeSignal();
  signal.notify();
  signal.notify();
  assert.equal(await signal.next(), true);
  let received = 0;
  const waiting = signal.next().then(() => received++);
  await Promise.resolve();
  assert.equal(received, 0);
  signal.notify();
  await waiting;
  assert.equal(received, 1);
});

test('ChangeSignal: once silenced it is silent, also for a ring before', async () => {
  const signal = new ChangeSignal();
  const waiting = signal.next();
  signal.close();
  signal.notify();
  assert.deepEqual([await waiting, await signal.next()], [false, false]);
});

test('ChangeSignal rejects every wait after an error', async () => {
  const signal = new ChangeSignal();
  signal.fail(new Error('broken'));
  await assert.rejects(signal.next(), { message: 'broken' });
  await assert.rejects(signal.next(), { message: 'broken' });
});

test('ChangeSignal: a wait whose signal aborts leaves the notification to the next reader', async () => {
  const signal = new ChangeSignal();
  const stopped = new AbortController();
  const waiting = signal.next(stopped.signal);
  stopped.abort();
  assert.equal(await waiting, false);
  signal.notify();
  assert.equal(await signal.next(stopped.signal), false);
  assert.equal(await signal.next(new AbortController().signal), true);
});
