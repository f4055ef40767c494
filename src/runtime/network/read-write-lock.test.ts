import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ReadWriteLock } from './read-write-lock.ts';

const signal = new AbortController().signal;

test('ReadWriteLock: a writer waits for readers, and blocks later ones', async () => {
  const gate = new ReadWriteLock();
  const seen: string[] = [];
  const first = Promise.withResolvers<void>();
  const gc = Promise.withResolvers<void>();
  const step = (name: string, until: Promise<void>) => async () => {
    seen.push(`${name} begins`);
    await until;
    seen.push(`${name} ends`);
  };
  const work = [
    gate.shared(step('add 1', first.promise), signal),
    gate.shared(step('add 2', Promise.resolve()), signal),
    gate.exclusive(step('gc', gc.promise), signal),
    gate.shared(step('add 3', Promise.resolve()), signal),
    gate.exclusive(step('gc 2', Promise.resolve()), signal),
  ];
  first.resolve();
  gc.resolve();
  await Promise.all(work);
  assert.deepEqual(new Set(seen.slice(0, 4)), new Set(['add 1 begins', 'add 1 ends', 'add 2 begins', 'add 2 ends']));
  assert.deepEqual(seen.slice(4, 6), ['gc begins', 'gc ends']);
  assert.deepEqual(seen.slice(6), ['add 3 begins', 'add 3 ends', 'gc 2 begins', 'gc 2 ends']);
});

test('ReadWriteLock: an aborted writer does not block others', async () => {
  const gate = new ReadWriteLock();
  const held = Promise.withResolvers<void>();
  const inside = gate.shared(() => held.promise, signal);
  const impatient = new AbortController();
  const alone = gate.exclusive(async () => assert.fail('never runs'), impatient.signal);
  impatient.abort(new Error('too long'));
  await assert.rejects(alone, { message: 'too long' });
  assert.equal(await gate.shared(async () => 'in', signal), 'in');
  held.resolve();
  await inside;
});
