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

/**
 * What the rules, alerts and dashboards of kubernetes-mixin read from a kubelet, with the labels that they use. Not here, because
 * kubelet v1.36 has neither: `kubelet_node_config_error`, `storage_operation_errors_total`. Not here, because it is Go's:
 * `go_goroutines`.
 */
const USED: Readonly<Record<string, readonly string[]>> = {
  kubelet_certificate_manager_client_expiration_renew_errors: [],
  kubelet_certificate_manager_client_ttl_seconds: [],
  kubelet_certificate_manager_server_ttl_seconds: [],
  kubelet_cgroup_manager_duration_seconds: ['operation_type'],
  kubelet_evictions: ['eviction_signal'],
  kubelet_node_name: ['node'],
  kubelet_pleg_relist_duration_seconds: [],
  kubelet_pleg_relist_interval_seconds: [],
  kubelet_pod_start_duration_seconds: [],
  kubelet_pod_worker_duration_seconds: ['operation_type'],
  kubelet_running_containers: ['container_state'],
  kubelet_running_pods: [],
  kubelet_runtime_operations_duration_seconds: ['operation_type'],
  kubelet_runtime_operations_errors_total: ['operation_type'],
  kubelet_runtime_operations_total: ['operation_type'],
  kubelet_server_expiration_renew_errors: [],
  kubernetes_build_info: ['git_version'],
  rest_client_request_duration_seconds: ['verb'],
  rest_client_requests_total: ['code'],
  storage_operation_duration_seconds: ['operation_name', 'volume_plugin'],
  volume_manager_total_volumes: ['state'],
};

for (const [name, labels] of Object.entries(USED)) {
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
