import assert from 'node:assert/strict';
import { test } from 'node:test';
import { UndoStack } from './undo-stack.ts';

const signal = new AbortController().signal;

test('UndoStack runs its steps backwards, and goes on after a failure', async () => {
  const done: string[] = [];
  const undo = new UndoStack();
  undo.push(async () => done.push('first'));
  undo.push(async () => {
    throw new Error('second');
  });
  undo.push(async () => done.push('third'));
  const failures = await undo.run(signal);
  assert.deepEqual(done, ['third', 'first']);
  assert.deepEqual(failures, [new Error('second')]);
});

test('UndoStack is empty once it has run', async () => {
  let runs = 0;
  const undo = new UndoStack();
  undo.push(async () => runs++);
  await undo.run(signal);
  await undo.run(signal);
  assert.equal(runs, 1);
});
