import assert from 'node:assert/strict';
import { test } from 'node:test';
import { abortable } from './abortable.ts';

test('abortable() passes the result and the failure of the work through', async () => {
  const { signal } = new AbortController();
  assert.equal(await abortable(Promise.resolve(1), signal), 1);
  await assert.rejects(abortable(Promise.reject(new Error('no')), signal), /no/);
});

test('abortable() lets go of the work when the signal aborts', async () => {
  const controller = new AbortController();
  const waiting = abortable(new Promise<never>(() => undefined), controller.signal);
  controller.abort(new Error('enough'));
  await assert.rejects(waiting, /enough/);
});

test('abortable() leaves no failure of the work behind when the signal had aborted before', async () => {
  const signal = AbortSignal.abort(new Error('enough'));
  await assert.rejects(abortable(Promise.reject(new Error('no')), signal), /no|enough/);
});
