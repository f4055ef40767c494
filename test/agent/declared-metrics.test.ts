import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { buildMetrics } from '../../src/app/build-metrics.ts';
import { HEALTHY } from '../../src/app/config/healthy-config.fixture.ts';
import { silentLog } from '../../src/base/log.ts';
import { type Declaration, shownHelp } from '../../src/base/metrics/declaration.ts';
import { UnhandledErrors } from '../../src/base/unhandled-errors.ts';
import { ScriptedAgent } from '../../src/cli/fake/scripted-agent.ts';
import { createMemoryHost } from '../../src/host/fake/memory-host.ts';
import { MIXIN_METRICS } from './mixin-metrics.ts';

/** All metrics of an agent that renews both of its certificates. */
function declaredMetrics(): readonly Declaration[] {
  const host = createMemoryHost();
  const unhandled = new UnhandledErrors({ clock: host.clock, log: silentLog });
  const config = { ...HEALTHY, rotateCertificates: true, serverTLSBootstrap: true };
  const metrics = buildMetrics({ nodeName: 'box', featureGates: new Map(), config }, { host, unhandled });
  metrics.follow(new ScriptedAgent());
  metrics.close();
  return metrics.declared;
}

for (const [name, labels] of Object.entries(MIXIN_METRICS)) {
  test(`${name}, which kubernetes-mixin uses, is declared with its labels`, () => {
    const found = declaredMetrics().find((each) => each.name === name);
    assert.ok(found);
    const known = new Set(found.labels ?? []);
    assert.deepEqual(
      labels.filter((label) => !known.has(label)),
      [],
    );
  });
}

test('no metric is declared twice, and names and labels have the letters of Prometheus', () => {
  const all = declaredMetrics();
  const names = all.map(({ name }) => name);
  assert.deepEqual(new Set(names).size, names.length);
  for (const { name, labels = [] } of all)
    for (const each of [name, ...labels]) assert.match(each, /^[a-z][a-z0-9_]*$/);
});

test('docs/metrics.md lists every metric with its type, labels and help text', () => {
  const text = readFileSync(join(import.meta.dirname, '../../docs/metrics.md'), 'utf8');
  const lines = declaredMetrics()
    .toSorted((a, b) => (a.name < b.name ? -1 : 1))
    .map((each) => {
      const labels = (each.labels ?? []).toSorted().map((label) => `\`${label}\``);
      return `- \`${each.name}\` (${each.type}${labels.length > 0 ? `; ${labels.join(', ')}` : ''}): ${shownHelp(each).replaceAll('<', '&lt;')}`;
    });
  const listed = text.split('\n').filter((line) => line.startsWith('- `') && / \((counter|gauge|histogram)/.test(line));
  assert.deepEqual(listed, lines);
});
