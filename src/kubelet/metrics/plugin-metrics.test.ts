import { DEFAULT_BOUNDS, histogramSeries, testPublished } from '../../base/metrics/exposition.fixture.ts';
import { pluginChannel } from '../../plugins/plugin-channel.ts';
import { observePlugins } from './plugin-metrics.ts';

const CSI_BOUNDS = '0.1 0.25 0.5 1 2.5 5 10 15 25 50 120 300 600'.split(' ');
const call = { kind: 'called', code: 'OK', isMigrated: false, tookMs: 200 } as const;
const CSI_LABELS =
  'driver_name="disk",grpc_status_code="OK",method_name="/csi.v1.Node/NodeStageVolume",migrated="true"';

testPublished('plugins', {
  'a call of a CSI driver for a volume of a migrated type': {
    observe: observePlugins,
    publish: () =>
      pluginChannel.publish({ ...call, plugin: 'disk', path: '/csi.v1.Node/NodeStageVolume', isMigrated: true }),
    series: histogramSeries('csi_operations_seconds', CSI_LABELS, CSI_BOUNDS, [0.2]),
  },
  'an allocation of devices; other calls of device plugins are not measured': {
    observe: observePlugins,
    publish() {
      pluginChannel.publish({ ...call, plugin: 'example.com/gpu', path: '/v1beta1.DevicePlugin/Allocate' });
      pluginChannel.publish({ ...call, plugin: 'example.com/gpu', path: '/v1beta1.DevicePlugin/PreStartContainer' });
    },
    series: histogramSeries(
      'kubelet_device_plugin_alloc_duration_seconds',
      'resource_name="example.com/gpu"',
      DEFAULT_BOUNDS,
      [0.2],
    ),
  },
  'a registration of a device plugin': {
    observe: observePlugins,
    publish: () => pluginChannel.publish({ kind: 'deviceRegistration', resource: 'example.com/gpu' }),
    series: ['kubelet_device_plugin_registration_total{resource_name="example.com/gpu"} 1'],
  },
  'requests of the pod resources API; v1alpha1 has a total alone': {
    observe: observePlugins,
    publish() {
      const request = { kind: 'podResourcesRequest', version: 'v1', isError: false } as const;
      pluginChannel.publish({ ...request, method: 'List' });
      pluginChannel.publish({ ...request, method: 'Get', isError: true });
      pluginChannel.publish({ ...request, method: 'GetAllocatableResources' });
      pluginChannel.publish({ ...request, method: 'List', version: 'v1alpha1' });
    },
    series: [
      'kubelet_pod_resources_endpoint_errors_get{server_api_version="v1"} 1',
      'kubelet_pod_resources_endpoint_requests_get{server_api_version="v1"} 1',
      'kubelet_pod_resources_endpoint_requests_get_allocatable{server_api_version="v1"} 1',
      'kubelet_pod_resources_endpoint_requests_list{server_api_version="v1"} 1',
      'kubelet_pod_resources_endpoint_requests_total{server_api_version="v1"} 3',
      'kubelet_pod_resources_endpoint_requests_total{server_api_version="v1alpha1"} 1',
    ],
  },
});
