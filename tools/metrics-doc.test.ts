import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { declaredMetrics } from '../src/app/build-metrics.fixture.ts';
import { shownHelp } from '../src/base/metrics/declaration.ts';

test('docs/metrics.md lists every metric with its type, labels and help text', () => {
  const text = readFileSync(join(import.meta.dirname, '../docs/metrics.md'), 'utf8');
  const lines = declaredMetrics()
    .toSorted((a, b) => (a.name < b.name ? -1 : 1))
    .map((each) => {
      const labels = (each.labels ?? []).toSorted().map((label) => `\`${label}\``);
      return `- \`${each.name}\` (${each.type}${labels.length > 0 ? `; ${labels.join(', ')}` : ''}): ${shownHelp(each).replaceAll('<', '&lt;')}`;
    });
  const listed = text.split('\n').filter((line) => line.startsWith('- `') && / \((counter|gauge|histogram)/.test(line));
  assert.deepEqual(listed, lines);
});
