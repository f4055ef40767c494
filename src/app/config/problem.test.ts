import assert from 'node:assert/strict';
import { test } from 'node:test';
import { formatProblem, type Problem } from './problem.ts';

const problems: Record<string, Problem> = {
  '/k.yaml:3:10: maxPods: expected a number': {
    severity: 'error',
    file: '/k.yaml',
    line: 3,
    column: 10,
    path: 'maxPods',
    message: 'expected a number',
  },
  '/k.yaml: was empty': { severity: 'error', file: '/k.yaml', message: 'was empty' },
  'unknown flag: --foo': { severity: 'error', path: '--foo', message: 'unknown flag: --foo' },
  'clusterDNS: not an address': { severity: 'warning', path: 'clusterDNS', message: 'not an address' },
};

for (const [text, problem] of Object.entries(problems)) {
  test(`formatProblem() writes "${text}"`, () => {
    assert.equal(formatProblem(problem), text);
  });
}
