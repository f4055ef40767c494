import { assertNever } from '../../base/assert-never.ts';
import { counter, histogram } from '../../base/metrics/declaration.ts';
import type { MetricRegistry } from '../../base/metrics/metric-registry.ts';
import { pluginChannel } from '../../plugins/plugin-channel.ts';
import { DRA_SECONDS } from './dra-metrics.ts';

const CSI = histogram(
  'csi_operations_seconds',
  'Container Storage Interface operation duration with gRPC error code status total',
  {
    labels: ['driver_name', 'method_name', 'grpc_status_code', 'migrated'],
    buckets: [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 15, 25, 50, 120, 300, 600],
  },
);
const DRA = histogram('dra_grpc_operations_duration_seconds', 'Duration in seconds of the DRA gRPC operations', {
  labels: ['driver_name', 'method_name', 'grpc_status_code'],
  buckets: DRA_SECONDS,
});
const DEVICE_ALLOCATION = histogram(
  'kubelet_device_plugin_alloc_duration_seconds',
  'Duration in seconds to serve a device plugin Allocation request. Broken down by resource name.',
  { labels: ['resource_name'] },
);
const DEVICE_REGISTRATIONS = counter(
  'kubelet_device_plugin_registration_total',
  'Cumulative number of device plugin registrations. Broken down by resource name.',
  { labels: ['resource_name'] },
);
const POD_RESOURCES = counter(
  'kubelet_pod_resources_endpoint_requests_total',
  'Cumulative number of requests to the PodResource endpoint. Broken down by server api version.',
  { labels: ['server_api_version'] },
);

const METHODS = {
  List: { name: 'list', label: 'List' },
  Get: { name: 'get', label: 'Get' },
  GetAllocatableResources: { name: 'get_allocatable', label: 'GetAllocatableResources' },
} as const;

function podResourcesCounter(method: keyof typeof METHODS, isError: boolean) {
  const { name, label } = METHODS[method];
  return counter(
    `kubelet_pod_resources_endpoint_${isError ? 'errors' : 'requests'}_${name}`,
    `Number of requests to the PodResource ${label} endpoint${isError ? ' which returned error' : ''}. Broken down by server api version.`,
    { labels: ['server_api_version'] },
  );
}

/** Counts and measures the calls of plugins, and those of the pod resources API. */
export function observePlugins(registry: MetricRegistry): () => void {
  const deviceRegistrations = registry.counter(DEVICE_REGISTRATIONS);
  const onCall = observeCalls(registry);
  const onPodResources = observePodResources(registry);
  return pluginChannel.subscribe((message) => {
    switch (message.kind) {
      case 'called':
        return onCall(message);
      case 'deviceRegistration':
        return deviceRegistrations.increment({ resource_name: message.resource });
      case 'podResourcesRequest':
        return onPodResources(message);
      default:
        return assertNever(message);
    }
  });
}

type PluginMessage = Parameters<Parameters<typeof pluginChannel.subscribe>[0]>[0];
type Call = Extract<PluginMessage, { kind: 'called' }>;
type PodResourcesRequest = Extract<PluginMessage, { kind: 'podResourcesRequest' }>;

function observeCalls(registry: MetricRegistry): (call: Call) => void {
  const csi = registry.histogram(CSI);
  const dra = registry.histogram(DRA);
  const deviceAllocation = registry.histogram(DEVICE_ALLOCATION);
  return ({ plugin, path, code, isMigrated, tookMs }) => {
    const seconds = tookMs / 1000;
    const labels = { driver_name: plugin, method_name: path, grpc_status_code: code };
    if (path.startsWith('/csi.v1.')) csi.observe(seconds, { ...labels, migrated: String(isMigrated) });
    else if (/\.DRAPlugin\//.test(path)) dra.observe(seconds, labels);
    else if (path === '/v1beta1.DevicePlugin/Allocate') deviceAllocation.observe(seconds, { resource_name: plugin });
  };
}

function observePodResources(registry: MetricRegistry): (request: PodResourcesRequest) => void {
  const all = registry.counter(POD_RESOURCES);
  const declared = (isError: boolean) => ({
    List: registry.counter(podResourcesCounter('List', isError)),
    Get: registry.counter(podResourcesCounter('Get', isError)),
    GetAllocatableResources: registry.counter(podResourcesCounter('GetAllocatableResources', isError)),
  });
  const [requests, errors] = [declared(false), declared(true)];
  return ({ version, method, isError }) => {
    const labels = { server_api_version: version };
    all.increment(labels);
    // As in kubelet, the first version of the API has a total alone.
    if (version === 'v1alpha1') return;
    requests[method].increment(labels);
    if (isError) errors[method].increment(labels);
  };
}
