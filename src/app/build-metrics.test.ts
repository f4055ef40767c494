import assert from 'node:assert/strict';
import { test } from 'node:test';
import { declaredMetrics } from './build-metrics.fixture.ts';

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
