import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { StartStep } from '../events/start-steps.ts';
import type { Step } from '../events/timeline.ts';
import { slowStep } from './slow-step.ts';

const usual = { count: 50, p50Ms: 400, p90Ms: 1000, p99Ms: 1500, maxMs: 1600 };

function stepOf(step: StartStep['step'], lastHour: StartStep['lastHour']): StartStep {
  return { step, lastHour, buckets: [], sumSeconds: 0, count: 50 };
}

interface Case {
  readonly name?: Step['name'];
  readonly tookMs: number;
  readonly known?: readonly StartStep[];
  readonly isSlow: boolean;
}

const cases: Record<string, Case> = {
  'a step as long as nine of ten': { tookMs: 1000, isSlow: false },
  'a step nearly three times as long': { tookMs: 2999, isSlow: false },
  'a step three times as long as nine of ten': { tookMs: 3000, isSlow: true },
  'a step of less than a second, however short the others are': {
    tookMs: 999,
    known: [stepOf('sandbox', { ...usual, p50Ms: 3, p90Ms: 5 })],
    isSlow: false,
  },
  'a step of a second where others take milliseconds': {
    tookMs: 1000,
    known: [stepOf('sandbox', { ...usual, p50Ms: 3, p90Ms: 5 })],
    isSlow: true,
  },
  'a step of which there were nine': {
    tookMs: 9000,
    known: [stepOf('sandbox', { ...usual, count: 9 })],
    isSlow: false,
  },
  'a step of which there were none for an hour': {
    tookMs: 9000,
    known: [stepOf('sandbox', undefined)],
    isSlow: false,
  },
  'a step that was never done': { tookMs: 9000, known: [], isSlow: false },
  'an image, whose pull depends on its size': {
    name: 'image',
    tookMs: 9000,
    known: [stepOf('image', usual)],
    isSlow: false,
  },
  'a hook, which is the pod’s own': {
    name: 'postStart hook',
    tookMs: 9000,
    known: [stepOf('postStart hook', usual)],
    isSlow: false,
  },
};
for (const [what, { name = 'sandbox', tookMs, known = [stepOf('sandbox', usual)], isSlow }] of Object.entries(cases)) {
  test(`slowStep() of ${what}: ${isSlow}`, () => {
    assert.equal(slowStep(name, tookMs, known) !== undefined, isSlow);
  });
}
