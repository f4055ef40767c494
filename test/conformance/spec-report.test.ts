import assert from 'node:assert/strict';
import { test } from 'node:test';
import { mergeResults, parseReport, type SpecResult } from './spec-report.ts';

const spec = {
  ContainerHierarchyTexts: ['[sig-node] Pods', 'Extended'],
  LeafNodeType: 'It',
  LeafNodeText: 'should run [NodeConformance] [Conformance]',
  State: 'passed',
  RunTime: 2_500_000_000,
  NumAttempts: 1,
};
const result: SpecResult = {
  name: 'Pods Extended should run',
  text: '[sig-node] Pods Extended should run [NodeConformance] [Conformance]',
  state: 'passed',
  message: '',
  seconds: 2.5,
  attempts: 1,
};

const cases: Record<string, { given: readonly object[]; want: readonly SpecResult[] }> = {
  'takes the labels out of names': { given: [spec], want: [result] },
  'keeps features in names': {
    given: [{ ...spec, LeafNodeText: 'should run [NodeConformance] [Feature:Swap]' }],
    want: [
      {
        ...result,
        name: 'Pods Extended should run [Feature:Swap]',
        text: '[sig-node] Pods Extended should run [NodeConformance] [Feature:Swap]',
      },
    ],
  },
  'leaves out specs that a filter left out': { given: [{ ...spec, State: 'skipped' }], want: [] },
  'keeps specs that skipped themselves': {
    given: [{ ...spec, State: 'skipped', Failure: { Message: 'no swap' } }],
    want: [{ ...result, state: 'skipped', message: 'no swap' }],
  },
  'counts a timeout, a panic and an interruption as failures': {
    given: ['timedout', 'panicked', 'interrupted', 'aborted'].map((State) => ({ ...spec, State })),
    want: Array.from({ length: 4 }, () => ({ ...result, state: 'failed' }) as const),
  },
  'keeps a failed node of the suite': {
    given: [
      { ...spec, ContainerHierarchyTexts: null, LeafNodeType: 'BeforeSuite', LeafNodeText: '', State: 'failed' },
      { ...spec, ContainerHierarchyTexts: null, LeafNodeType: 'AfterSuite', LeafNodeText: '' },
    ],
    want: [{ ...result, name: '[BeforeSuite]', text: '[BeforeSuite]', state: 'failed' }],
  },
  'sorts by name': {
    given: [
      { ...spec, LeafNodeText: 'z' },
      { ...spec, LeafNodeText: 'a' },
    ],
    want: [
      { ...result, name: 'Pods Extended a', text: '[sig-node] Pods Extended a' },
      { ...result, name: 'Pods Extended z', text: '[sig-node] Pods Extended z' },
    ],
  },
};

for (const [name, { given, want }] of Object.entries(cases)) {
  test(`parseReport() ${name}`, () => {
    assert.deepEqual(parseReport(JSON.stringify([{ SpecReports: given }])), want);
  });
}

test('parseReport() reads a suite without specs', () => {
  assert.deepEqual(parseReport('[{"SpecReports":null}]'), []);
});

test('mergeResults() has the last result of each spec, with all its attempts', () => {
  const other = { ...result, text: 'other' };
  const failed = { ...result, state: 'failed', attempts: 2 } as const;
  assert.deepEqual(mergeResults([[failed, other], [result]]), [{ ...result, attempts: 3 }, other]);
});
