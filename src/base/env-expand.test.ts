import assert from 'node:assert/strict';
import { test } from 'node:test';
import { expandEnv } from './env-expand.ts';

const known = new Map([
  ['VAR_A', 'A'],
  ['EMPTY', ''],
  ['REFERENCE', '$(VAR_A)'],
]);

const cases: Record<string, string> = {
  'plain text': 'plain text',
  '$(VAR_A)': 'A',
  'x-$(VAR_A)-$(VAR_A)': 'x-A-A',
  '[$(EMPTY)]': '[]',
  '$(REFERENCE)': '$(VAR_A)',
  '$(UNKNOWN)': '$(UNKNOWN)',
  '$()': '$()',
  '$$(VAR_A)': '$(VAR_A)',
  '$$$(VAR_A)': '$A',
  '$$$$(VAR_A)': '$$(VAR_A)',
  '$(VAR_A': '$(VAR_A',
  '$(a$(VAR_A)': '$(a$(VAR_A)',
  $VAR_A: '$VAR_A',
  '$(VAR_A)$': 'A$',
  $: '$',
  $$: '$',
  $$$: '$$',
  '$(VAR_A))': 'A)',
};

for (const [text, expanded] of Object.entries(cases)) {
  test(`expandEnv() makes ${expanded} of ${text}`, () => {
    assert.equal(
      expandEnv(text, (name) => known.get(name)),
      expanded,
    );
  });
}
