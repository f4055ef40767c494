import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ChangeBell } from './change-bell.ts';

test('ChangeBell: rings that nobody heard are heard as one', async () => {
  const bell = new ChangeBell();
  bell.ring();
  bell.ring();
  assert.equal(await bell.heard(), true);
  let heard = 0;
  const waiting = bell.heard().then(() => heard++);
  await Promise.resolve();
  assert.equal(heard, 0);
  bell.ring();
  await waiting;
  assert.equal(heard, 1);
});

test('ChangeBell: once silenced it is silent, also for a ring before', async () => {
  const bell = new ChangeBell();
  const waiting = bell.heard();
  bell.silence();
  bell.ring();
  assert.deepEqual([await waiting, await bell.heard()], [false, false]);
});

test('ChangeBell: a failure is told from then on', async () => {
  const bell = new ChangeBell();
  bell.fail(new Error('broken'));
  await assert.rejects(bell.heard(), { message: 'broken' });
  await assert.rejects(bell.heard(), { message: 'broken' });
});
