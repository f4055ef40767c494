/**
 * What the rules, alerts and dashboards of kubernetes-mixin read from a kubelet, with the labels that they use. Not here, because
 * kubelet v1.36 has neither: `kubelet_node_config_error`, `storage_operation_errors_total`. Not here, because it is Go's:
 * `go_goroutines`.
 */
export const MIXIN_METRICS: Readonly<Record<string, readonly string[]>> = {
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
