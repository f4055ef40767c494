import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { SpecResult } from './spec-report.ts';
import { printSummary } from './summary.ts';

const passed: SpecResult = {
  group: 'Networking',
  name: 'should work',
  state: 'passed',
  message: '',
  seconds: 1.2,
  attempts: 1,
};

const cases: Record<string, { given: readonly SpecResult[]; isGood: boolean; says: readonly string[] }> = {
  'succeeds when every spec passed': {
    given: [passed, { ...passed, seconds: 0.3 }],
    isGood: true,
    says: [],
  },
  'prints the reason of an expected skip': {
    given: [
      { ...passed, group: 'AppArmor', state: 'skipped', message: 'AppArmor is disabled on this host' },
      { ...passed, group: 'AppArmor', state: 'skipped', message: 'AppArmor is disabled on this host' },
    ],
    isGood: true,
    says: ['skipped: 2, the kernel of this machine has no AppArmor'],
  },
  'accepts a filtered spec by its name': {
    given: [
      {
        ...passed,
        group: 'Image Manager',
        name: 'public image with digest should be pulled and removed [Conformance]',
        state: 'skipped',
      },
    ],
    isGood: true,
    says: ['skipped: 1, asks for the digest of a published image, which no other image has'],
  },
  'fails on an unexpected skip': {
    given: [{ ...passed, state: 'skipped', message: 'not today' }],
    isGood: false,
    says: ['\nSKIPPED for no known reason: Networking should work\nnot today'],
  },
  'fails on an expected skip for another reason': {
    given: [{ ...passed, group: 'AppArmor', state: 'skipped', message: 'not today' }],
    isGood: false,
    says: ['\nSKIPPED for no known reason: AppArmor should work\nnot today'],
  },
  'fails on a failed spec': {
    given: [passed, { ...passed, state: 'failed', message: 'no route' }],
    isGood: false,
    says: ['\nFAILED: Networking should work\nno route'],
  },
  'names a spec that passed at a further attempt': {
    given: [{ ...passed, attempts: 2 }],
    isGood: true,
    says: ['passed at attempt 2: Networking should work'],
  },
  'fails on a run without specs': { given: [], isGood: false, says: [] },
};

for (const [name, { given, isGood, says }] of Object.entries(cases)) {
  test(`printSummary() ${name}`, () => {
    const lines: string[] = [];
    const answer = printSummary([{ name: 'run', specs: given }], (line) => lines.push(line));
    const said = lines.slice(lines.findIndex((line) => line.startsWith('all')) + 1);
    assert.deepEqual({ isGood: answer, says: said }, { isGood, says });
  });
}

test('printSummary() counts by group', () => {
  const lines: string[] = [];
  printSummary([{ name: 'run', specs: [passed, passed, { ...passed, group: 'Streaming' }] }], (line) =>
    lines.push(line),
  );
  const words = lines.map((line) => line.split(/ {2,}/));
  assert.deepEqual(words, [
    ['group', 'passed', 'failed', 'skipped', 'seconds'],
    ['Networking (run)', '2', '0', '0', '2'],
    ['Streaming (run)', '1', '0', '0', '1'],
    ['all', '3', '0', '0', '4'],
  ]);
});
