import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CriError } from '../../cri/cri-error.ts';
import { PodError } from '../pod/pod-error.ts';
import { retryDelay } from './retry-delay.ts';

const away = new CriError('Unavailable', 'no');

const cases: Record<string, { error: unknown; failures?: number; fraction?: number; ms: number }> = {
  'waits 10 s': { error: new Error('no'), ms: 10_000 },
  'and up to half as long again': { error: new Error('no'), fraction: 0.5, ms: 12_500 },
  'waits for as long as the failure says': {
    error: new PodError('NetworkNotReady', 'no', { retryAfterMs: 1_000 }),
    ms: 1_000,
  },
  'asks a runtime that is away again soon': { error: away, ms: 100 },
  'also when users are told otherwise': {
    error: new PodError('CreatePodSandboxError', 'no', { cause: away }),
    ms: 100,
  },
  'then ever more slowly': { error: away, failures: 4, ms: 800 },
  'every 5 s in the end': { error: away, failures: 99, ms: 5_000 },
};

for (const [name, { error, failures = 1, fraction = 0, ms }] of Object.entries(cases)) {
  test(`retryDelay() ${name}`, () => assert.equal(retryDelay(error, failures, fraction), ms));
}
