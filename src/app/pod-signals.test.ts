import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PodSignals, Signal } from './pod-signals.ts';

function unexpected(error: unknown): void {
  throw error;
}

test('a listener that throws stops neither the other listeners nor the caller', () => {
  const unhandled: unknown[] = [];
  const signal = new Signal<[uid: string]>((error) => void unhandled.push(error));
  const calls: string[] = [];
  const bug = new TypeError('a bug');
  signal.subscribe(() => {
    throw bug;
  });
  signal.subscribe((uid) => void calls.push(uid));
  signal.raise('a');
  assert.deepEqual([calls, unhandled], [['a'], [bug]]);
});

test('a signal calls its listeners synchronously, in the order in which they subscribed', () => {
  const signal = new Signal<[uid: string]>(unexpected);
  const calls: string[] = [];
  signal.subscribe((uid) => void calls.push(`first ${uid}`));
  signal.subscribe((uid) => void calls.push(`second ${uid}`));
  signal.raise('a');
  assert.deepEqual(calls, ['first a', 'second a']);
});

test('a signal without listeners does nothing', () => {
  new PodSignals(unexpected).podObserved.raise('a');
});
