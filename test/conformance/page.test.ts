import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type RunOfSubject, renderPage } from './page.ts';
import type { SpecResult } from './spec-report.ts';

const record = { seconds: 1500, procs: 6, attempts: 2, cores: 2, nodelet: 'abc1234', date: '2026-01-02T03:04:05Z' };
const spec = (name: string, state: SpecResult['state'], message = ''): SpecResult => ({
  name,
  text: name,
  state,
  message,
  seconds: 1,
  attempts: 1,
});
const run = (title: string, ...specs: readonly SpecResult[]): RunOfSubject => ({ title, specs, record, reruns: 1 });

const rendered = renderPage({
  reference: run(
    'kubelet',
    spec('a', 'passed'),
    spec('b', 'passed'),
    spec('c', 'failed', 'no route | here\nmore'),
    spec('d', 'failed', 'not supported'),
  ),
  subjects: [
    run('Nodelet', spec('a', 'failed', 'x'), spec('b', 'failed', 'timed out'), spec('c', 'passed')),
    run('Other', spec('a', 'passed'), spec('b', 'passed'), spec('c', 'skipped', 'needs swap')),
  ],
  machine: 'two cores',
  reasons: [{ spec: /^a$/, reason: 'volumes of CSI' }],
  machineReasons: [{ spec: /^d$/, reason: 'the kernel has no dummy devices' }],
});

/** Without the padding of tables. */
const page = rendered.replaceAll(/ {2,}/g, ' ');

const cases: Record<string, string> = {
  'counts each subject': '| Nodelet | 1 | 0 | 2 | 0 | 1 | 25 | 2026-01-02 | abc1234 |',
  'has the known reason of a difference': '| a | failed | volumes of CSI |',
  'has the message of a difference without a known reason': '| b | failed | not known; it says: timed out |',
  'says when there is no difference': '## What kubelet passes and Other does not: 0\n\n##',
  'has what the reference fails, with the state of the others':
    '| c | passed | skipped | not known; it says: no route \\| here |',
  'has the known reason of what the reference fails': '| d | missing | missing | the kernel has no dummy devices |',
  'counts skips by reason': '| needs swap | 0 | 0 | 1 |',
  'says how it ran': '6 specs at a time on 2 cores; a spec that fails runs again, 2 times in all, the same for every',
};

for (const [name, want] of Object.entries(cases)) {
  test(`renderPage() ${name}`, () => assert.ok(page.includes(want), page));
}

test('renderPage() pads the columns of a table', () => {
  const lines = rendered.split('\n').filter((line) => line.startsWith('| ') || line.startsWith('| -'));
  const [head = '', rule = '', ...rows] = lines;
  assert.deepEqual([rule.length, ...rows.slice(0, 2).map((row) => row.length)], Array(3).fill(head.length));
});
