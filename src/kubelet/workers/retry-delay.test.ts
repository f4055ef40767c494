import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CriError } from '../../cri/cri-error.ts';
import { PodError } from '../pod/pod-error.ts';
import { retryDelay } from './retry-delay.ts';

const unavailable = new CriError('Unavailable', 'no');

const cases: Record<string, { error: unknown; failures?: number; fraction?: number; ms: number }> = {
  'waits 10 s': { error: new Error('no'), ms: 10_000 },
  'adds up to half of that': { error: new Error('no'), fraction: 0.5, ms: 12_500 },
  'waits as long as the error requests': {
    error: new PodError('NetworkNotReady', 'no', { retryAfterMs: 1_000 }),
    ms: 1_000,
  },
  'retries an unavailable runtime soon': { error: unavailable, ms: 100 },
  'retries soon when the error is wrapped in a pod error': {
    error: new PodError('CreatePodSandboxError', 'no', { cause: unavailable }),
    ms: 100,
  },
  'doubles the delay': { error: unavailable, failures: 4, ms: 800 },
  'retries every 5 s at last': { error: unavailable, failures: 99, ms: 5_000 },
};

for (const [name, { error, failures = 1, fraction = 0, ms }] of Object.entries(cases)) {
  test(`retryDelay() ${name}`, () => assert.equal(retryDelay(error, failures, fraction), ms));
}
