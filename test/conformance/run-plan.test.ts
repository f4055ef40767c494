import assert from 'node:assert/strict';
import { test } from 'node:test';
import { focusOn, reportFiles } from './run-plan.ts';

test('reportFiles() sorts reports by number and leaves out other files', () => {
  const names = ['report-10.json', 'ginkgo.log', 'report-2.json', 'report-1.json', 'report-x.json'];
  assert.deepEqual(reportFiles(names), ['report-1.json', 'report-2.json', 'report-10.json']);
});

test('focusOn() matches exactly the given texts', () => {
  const focus = new RegExp(focusOn(['[sig-node] Pods should run (again)', 'b']));
  const texts = ['[sig-node] Pods should run (again)', 'b', 'bb', '[sig-node] Pods should run'];
  assert.deepEqual(
    texts.filter((text) => focus.test(`E2eNode Suite ${text}`)),
    texts.slice(0, 2),
  );
});
