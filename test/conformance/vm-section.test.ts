import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { SpecResult } from './spec-report.ts';
import { keepVmSection, replaceVmSection } from './vm-section.ts';

const spec = (name: string, state: SpecResult['state'], message = ''): SpecResult => ({
  name,
  text: name,
  state,
  message,
  seconds: 1,
  attempts: 1,
});

const section = {
  runs: [
    {
      title: 'Nodelet',
      specs: [
        spec('Pods should run', 'passed'),
        spec('Hooks b', 'failed', 'timed out\nmore'),
        spec('Hooks a', 'passed'),
      ],
      record: { seconds: 130, nodelet: 'abc1234', date: '2026-01-02T03:04:05Z' },
    },
  ],
  groups: ['Pods', 'Hooks', 'Sysctls'],
  attempts: 2,
};

test('replaceVmSection() counts by group and lists what failed', () => {
  const page = replaceVmSection('# Page\n', section).replaceAll(/ {2,}/g, ' ');
  for (const line of [
    '| Pods | 1, 0, 0 |',
    '| Hooks | 1, 1, 0 |',
    '| all | 2, 1, 0 |',
    '| Hooks b | Nodelet | timed out |',
  ])
    assert.ok(page.includes(line), page);
  assert.doesNotMatch(page, /Sysctls/);
  assert.match(page, /^# Page\n\n## In the virtual machine\n/);
});

test('replaceVmSection() replaces an earlier section', () => {
  const once = replaceVmSection('# Page\n', section);
  assert.equal(replaceVmSection(once, section), once);
});

test('keepVmSection() moves the section of the previous page to a new one', () => {
  const previous = replaceVmSection('# Old\n', section);
  assert.equal(keepVmSection(previous, '# New\n'), previous.replace('# Old', '# New'));
  assert.equal(keepVmSection('# Old\n', '# New\n'), '# New\n');
});
