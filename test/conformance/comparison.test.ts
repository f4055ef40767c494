import assert from 'node:assert/strict';
import { test } from 'node:test';
import { countStates, type Difference, differences } from './comparison.ts';
import type { SpecResult } from './spec-report.ts';

const spec = (name: string, state: SpecResult['state'], message = '', attempts = 1): SpecResult => ({
  name,
  text: name,
  state,
  message,
  seconds: 1,
  attempts,
});

const cases: Record<string, { reference: SpecResult[]; subject: SpecResult[]; want: Difference[] }> = {
  'is empty when both pass': { reference: [spec('a', 'passed')], subject: [spec('a', 'passed')], want: [] },
  'has what fails on the subject alone': {
    reference: [spec('a', 'passed'), spec('b', 'passed')],
    subject: [spec('a', 'failed', 'timed out'), spec('b', 'passed')],
    want: [{ name: 'a', state: 'failed', message: 'timed out' }],
  },
  'has what the subject alone skips': {
    reference: [spec('a', 'passed')],
    subject: [spec('a', 'skipped', 'no swap')],
    want: [{ name: 'a', state: 'skipped', message: 'no swap' }],
  },
  'has what the subject did not run': {
    reference: [spec('a', 'passed')],
    subject: [],
    want: [{ name: 'a', state: 'missing', message: '' }],
  },
  'leaves out what the reference does not pass': {
    reference: [spec('a', 'failed'), spec('b', 'skipped')],
    subject: [spec('a', 'failed'), spec('b', 'failed')],
    want: [],
  },
};

for (const [name, { reference, subject, want }] of Object.entries(cases)) {
  test(`differences() ${name}`, () => assert.deepEqual(differences(reference, subject), want));
}

test('countStates() counts specs by state', () => {
  const specs = [spec('a', 'passed'), spec('b', 'passed', '', 2), spec('c', 'failed'), spec('d', 'skipped')];
  assert.deepEqual(countStates(specs), { passed: 2, failed: 1, skipped: 1, atFurtherAttempt: 1 });
});
