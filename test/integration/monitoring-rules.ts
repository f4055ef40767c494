/**
 * Rules and dashboard queries in the shape of those that operators of kubelet use: the same metrics and labels. `job` and
 * `metrics_path` are labels of the scrape configuration.
 */
const CADVISOR = 'job="kubelet",metrics_path="/metrics/cadvisor"';
const OWN = 'job="kubelet",metrics_path="/metrics"';
const PROBES = 'job="kubelet",metrics_path="/metrics/probes"';
const RESOURCE = 'job="kubelet",metrics_path="/metrics/resource"';
const SLIS = 'job="kubelet",metrics_path="/metrics/slis"';
const PODS = 'max by (namespace, pod, node) (kube_pod_info{node!=""})';
/** Long enough for several scrapes, short enough for a test. */
const WINDOW = '1m';
const PENDING = '10s';

function perNode(metric: string): string {
  return `sum by (instance, le) (rate(${metric}{${OWN}}[${WINDOW}])) * on (instance) group_left (node) kubelet_node_name{${OWN}}`;
}

const RECORDED_MEMORY = ['working_set_bytes', 'rss', 'cache', 'swap'];

/** Usage of containers with the node of their pod, and how long relisting takes. */
export const RECORDING_RULES = {
  name: 'recorded',
  rules: [
    {
      record: 'node_namespace_pod_container:container_cpu_usage_seconds_total:sum_rate5m',
      expr: `sum by (namespace, pod, container) (rate(container_cpu_usage_seconds_total{${CADVISOR},image!=""}[${WINDOW}])) * on (namespace, pod) group_left (node) ${PODS}`,
    },
    ...RECORDED_MEMORY.map((kind) => ({
      record: `node_namespace_pod_container:container_memory_${kind}`,
      expr: `container_memory_${kind}{${CADVISOR},image!=""} * on (namespace, pod) group_left (node) ${PODS}`,
    })),
    ...['0.99', '0.5'].map((quantile) => ({
      record: 'node_quantile:kubelet_pleg_relist_duration_seconds:histogram_quantile',
      expr: `histogram_quantile(${quantile}, ${perNode('kubelet_pleg_relist_duration_seconds_bucket')})`,
      labels: { quantile },
    })),
  ],
};

/** A healthy node fires none of them. */
export const ALERTING_RULES = {
  name: 'alerts',
  rules: [
    alert('KubeletDown', `up{${OWN}} == 0`),
    alert(
      'KubeletPlegDurationHigh',
      'node_quantile:kubelet_pleg_relist_duration_seconds:histogram_quantile{quantile="0.99"} >= 10',
    ),
    alert(
      'KubeletPodStartUpLatencyHigh',
      `histogram_quantile(0.99, ${perNode('kubelet_pod_worker_duration_seconds_bucket')}) > 60`,
    ),
    alert('KubeletTooManyPods', `kubelet_running_pods{${OWN}} / on (node) kube_node_status_capacity_pods > 0.95`),
    alert(
      'KubeletClientCertificateRenewalErrors',
      `increase(kubelet_certificate_manager_client_expiration_renew_errors{${OWN}}[${WINDOW}]) > 0`,
    ),
    alert(
      'KubeletServerCertificateRenewalErrors',
      `increase(kubelet_server_expiration_renew_errors{${OWN}}[${WINDOW}]) > 0`,
    ),
    alert('KubeletUnhealthy', `kubernetes_healthcheck{${SLIS}} == 0`),
    alert('KubeletEvicts', `increase(kubelet_evictions{${OWN}}[${WINDOW}]) > 0`),
    alert(
      'KubePersistentVolumeFillingUp',
      `kubelet_volume_stats_available_bytes{${OWN}} / kubelet_volume_stats_capacity_bytes{${OWN}} < 0.03 and kubelet_volume_stats_used_bytes{${OWN}} > 0`,
    ),
    alert(
      'KubePersistentVolumeInodesFillingUp',
      `kubelet_volume_stats_inodes_free{${OWN}} / kubelet_volume_stats_inodes{${OWN}} < 0.03 and kubelet_volume_stats_inodes_used{${OWN}} > 0`,
    ),
    alert('ContainerOutOfMemory', `increase(container_oom_events_total{${CADVISOR}}[${WINDOW}]) > 0`),
    alert('ProbeFails', `increase(prober_probe_total{${PROBES},result="failed"}[${WINDOW}]) > 2`),
    alert('ScrapeError', `resource_scrape_error{${RESOURCE}} > 0`),
  ],
};

function alert(name: string, expr: string): object {
  return { alert: name, expr, for: PENDING, labels: { severity: 'warning' } };
}

/** Queries of dashboards, each with `$node` in it. */
export const QUERIES: Readonly<Record<string, string>> = {
  'recorded CPU of containers':
    'node_namespace_pod_container:container_cpu_usage_seconds_total:sum_rate5m{node="$node",container!=""}',
  ...Object.fromEntries(
    RECORDED_MEMORY.map((kind) => [
      `recorded memory of containers: ${kind}`,
      `node_namespace_pod_container:container_memory_${kind}{node="$node",container!=""}`,
    ]),
  ),
  'CPU of pods': `sum by (namespace, pod) (rate(container_cpu_usage_seconds_total{${CADVISOR},node="$node",pod="judged-$node",container!=""}[${WINDOW}]))`,
  'throttled CPU': `sum by (container) (increase(container_cpu_cfs_throttled_periods_total{${CADVISOR},node="$node",pod="judged-$node",container!=""}[${WINDOW}])) / sum by (container) (increase(container_cpu_cfs_periods_total{${CADVISOR},node="$node",pod="judged-$node",container!=""}[${WINDOW}]))`,
  'received bytes': `sum by (pod, interface) (rate(container_network_receive_bytes_total{${CADVISOR},node="$node",pod="judged-$node"}[${WINDOW}]))`,
  'transmitted packets': `sum by (pod, interface) (rate(container_network_transmit_packets_total{${CADVISOR},node="$node",pod="judged-$node"}[${WINDOW}]))`,
  'memory limits': `container_spec_memory_limit_bytes{${CADVISOR},node="$node",pod="judged-$node",container!=""} > 0`,
  'start of containers': `container_start_time_seconds{${CADVISOR},node="$node",pod="judged-$node",container!=""}`,
  'CPU of the machine': `rate(container_cpu_usage_seconds_total{${CADVISOR},node="$node",id="/"}[${WINDOW}])`,
  'cores of the machine': `machine_cpu_cores{${CADVISOR},node="$node"}`,
  'memory of the machine': `machine_memory_bytes{${CADVISOR},node="$node"}`,
  'running pods': `kubelet_running_pods{${OWN},node="$node"}`,
  'running containers': `kubelet_running_containers{${OWN},node="$node",container_state="running"}`,
  'desired volumes': `volume_manager_total_volumes{${OWN},node="$node",state="desired_state_of_world"}`,
  'actual volumes': `volume_manager_total_volumes{${OWN},node="$node",state="actual_state_of_world"}`,
  'runtime operations': `sum by (operation_type) (rate(kubelet_runtime_operations_total{${OWN},node="$node"}[${WINDOW}]))`,
  'runtime operations, p99': `histogram_quantile(0.99, sum by (operation_type, le) (rate(kubelet_runtime_operations_duration_seconds_bucket{${OWN},node="$node"}[${WINDOW}])))`,
  'pod starts': `kubelet_pod_start_duration_seconds_count{${OWN},node="$node"} > 0`,
  'pod starts, SLI': `kubelet_pod_start_sli_duration_seconds_count{${OWN},node="$node"} > 0`,
  'pod starts with pulls': `kubelet_pod_start_total_duration_seconds_count{${OWN},node="$node"} > 0`,
  'within 5 s': `kubelet_pod_start_sli_duration_seconds_bucket{${OWN},node="$node",le="5"}`,
  'pod workers': `sum by (operation_type) (kubelet_pod_worker_duration_seconds_count{${OWN},node="$node"})`,
  'storage operations': `sum by (operation_name, volume_plugin, status) (storage_operation_duration_seconds_count{${OWN},node="$node"})`,
  'cgroup operations': `sum by (operation_type) (kubelet_cgroup_manager_duration_seconds_count{${OWN},node="$node"})`,
  // Relists of Nodelet are minutes apart while the runtime sends events: a window of a test has none.
  'relist duration': `kubelet_pleg_relist_duration_seconds_bucket{${OWN},node="$node"}`,
  'relist interval': `kubelet_pleg_relist_interval_seconds_bucket{${OWN},node="$node"}`,
  'last relist or event': `kubelet_pleg_last_seen_seconds{${OWN},node="$node"} > 0`,
  'requests to the API server': `sum by (code, method) (rest_client_requests_total{${OWN},node="$node",code=~"2.."})`,
  'requests to the API server, p99': `histogram_quantile(0.99, sum by (verb, le) (rate(rest_client_request_duration_seconds_bucket{${OWN},node="$node"}[${WINDOW}])))`,
  'memory of the agent': `process_resident_memory_bytes{${OWN},node="$node"}`,
  'CPU of the agent': `rate(process_cpu_seconds_total{${OWN},node="$node"}[${WINDOW}])`,
  'requests of clients': `sum by (method, path, server_type) (kubelet_http_requests_total{${OWN},node="$node"})`,
  'claims: capacity': `kubelet_volume_stats_capacity_bytes{${OWN},node="$node",namespace="default"}`,
  'claims: usage': `kubelet_volume_stats_used_bytes{${OWN},node="$node",namespace="default"} / kubelet_volume_stats_capacity_bytes{${OWN},node="$node"}`,
  'claims: inodes': `kubelet_volume_stats_inodes_used{${OWN},node="$node",namespace="default"}`,
  probes: `sum by (namespace, pod, container, probe_type, result) (prober_probe_total{${PROBES},node="$node",pod="judged-$node"})`,
  'probes, p99': `histogram_quantile(0.99, sum by (probe_type, le) (rate(prober_probe_duration_seconds_bucket{${PROBES},node="$node"}[${WINDOW}])))`,
  'CPU by the resource endpoint': `rate(container_cpu_usage_seconds_total{${RESOURCE},node="$node",pod="judged-$node"}[${WINDOW}])`,
  'memory by the resource endpoint': `pod_memory_working_set_bytes{${RESOURCE},node="$node",pod="judged-$node"}`,
  'memory of the node by the resource endpoint': `node_memory_working_set_bytes{${RESOURCE},node="$node"}`,
  'health checks': `kubernetes_healthcheck{${SLIS},node="$node"}`,
  'health checks, counted': `sum by (name, type, status) (kubernetes_healthchecks_total{${SLIS},node="$node"})`,
};
