import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Step } from '../events/timeline.ts';
import { step } from './fake/reports.ts';
import { startGaps } from './step-gaps.ts';

/** `after → before: so long` */
function gapTexts(steps: readonly Step[], thresholdMs?: number): string[] {
  return startGaps(steps, thresholdMs).map(
    ({ after, before, tookMs }) => `${after.name} → ${before.name}: ${tookMs} ms`,
  );
}

const volumes = step('volumes', undefined, 0, 20);

const cases: Record<string, { steps: readonly Step[]; thresholdMs?: number; waits: readonly string[] }> = {
  'nothing, where nothing was done': { steps: [], waits: [] },
  'no gap that is short': { steps: [volumes, step('sandbox', undefined, 120, 50)], waits: [] },
  'a gap that is longer than allowed': {
    steps: [volumes, step('sandbox', undefined, 121, 50)],
    waits: ['volumes → sandbox: 101 ms'],
  },
  'a gap by a threshold of its own': {
    steps: [volumes, step('sandbox', undefined, 31, 50)],
    thresholdMs: 10,
    waits: ['volumes → sandbox: 11 ms'],
  },
  'no gap beneath a longer step that runs side by side': {
    steps: [step('image', 'a', 0, 1000), step('image', 'b', 10, 20), step('create container', 'a', 1001, 5)],
    waits: [],
  },
  'no gap while a step is running': {
    steps: [step('image', 'a', 0), step('create container', 'b', 5000, 5)],
    waits: [],
  },
  'a gap after a failure': {
    steps: [step('sandbox', undefined, 0, 20, 'no network'), step('sandbox', undefined, 10_020, 20)],
    waits: ['sandbox → sandbox: 10000 ms'],
  },
  'nothing of the end of a pod': {
    steps: [volumes, step('stop container', 'web', 60_000, 20), step('remove', undefined, 90_000, 20)],
    waits: [],
  },
};

for (const [name, { steps, thresholdMs, waits }] of Object.entries(cases)) {
  test(`startGaps() finds ${name}`, () => assert.deepEqual(gapTexts(steps, thresholdMs), waits));
}
