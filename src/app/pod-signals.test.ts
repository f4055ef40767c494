import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PodSignals, Signal } from './pod-signals.ts';

test('a signal calls its listeners synchronously, in the order in which they subscribed', () => {
  const signal = new Signal<[uid: string]>();
  const calls: string[] = [];
  signal.subscribe((uid) => void calls.push(`first ${uid}`));
  signal.subscribe((uid) => void calls.push(`second ${uid}`));
  signal.raise('a');
  assert.deepEqual(calls, ['first a', 'second a']);
});

test('a signal without listeners does nothing', () => {
  new PodSignals().podObserved.raise('a');
});
