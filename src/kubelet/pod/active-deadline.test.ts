import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseTime } from '../../base/rfc3339.ts';
import { activeTimeLeft } from './active-deadline.ts';

const startTime = '2026-01-01T00:00:00Z';
const start = parseTime(startTime);

const cases: Record<string, { deadline?: number; startTime?: string; after: number; left: number | undefined }> = {
  'knows no end without a deadline': { startTime, after: 99_000, left: undefined },
  'knows no end before the start': { deadline: 10, after: 99_000, left: undefined },
  'counts from the start': { deadline: 10, startTime, after: 4_000, left: 6_000 },
  'is over to the millisecond': { deadline: 10, startTime, after: 10_000, left: 0 },
  'stays over': { deadline: 10, startTime, after: 11_000, left: -1_000 },
};

for (const [name, given] of Object.entries(cases)) {
  test(`activeTimeLeft() ${name}`, () => {
    const pod = {
      metadata: { name: 'a', namespace: 'b', uid: 'c' },
      spec: { containers: [], ...(given.deadline && { activeDeadlineSeconds: given.deadline }) },
    };
    const status = given.startTime ? { startTime: given.startTime } : {};
    assert.equal(activeTimeLeft(pod, status, start + given.after), given.left);
  });
}
