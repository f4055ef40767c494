import { histogramSeries, testPublished } from '../../base/metrics/exposition.fixture.ts';
import { volumeChannel } from '../volumes/volume-channel.ts';
import { observeVolumes, VOLUME_DECLARATIONS, volumeCountMetrics } from './volume-metrics.ts';

const BOUNDS = '0.1 0.25 0.5 1 2.5 5 10 15 25 50 120 300 600'.split(' ');
const call = { kind: 'called', operation: 'volume_mount', isError: false, isMigrated: false } as const;
const CSI = 'kubernetes.io/csi:ebs.csi.aws.com';
const counts = { wanted: new Map<string, number>(), ready: new Map<string, number>() };

testPublished('volumes', {
  'calls of plugins': {
    observe: observeVolumes,
    publish() {
      volumeChannel.publish({ ...call, plugin: 'kubernetes.io/secret', tookMs: 100 });
      volumeChannel.publish({ ...call, plugin: CSI, isError: true, isMigrated: true, tookMs: 700_000 });
    },
    series: [
      ...histogramSeries(
        'storage_operation_duration_seconds',
        `migrated="false",operation_name="volume_mount",status="success",volume_plugin="kubernetes.io/secret"`,
        BOUNDS,
        [0.1],
      ),
      ...histogramSeries(
        'storage_operation_duration_seconds',
        `migrated="true",operation_name="volume_mount",status="fail-unknown",volume_plugin="${CSI}"`,
        BOUNDS,
        [700],
      ),
    ],
  },
  'a volume that is set up, with its waits': {
    observe: observeVolumes,
    publish: () =>
      volumeChannel.publish({ kind: 'setUp', operation: 'overall_volume_mount', plugin: CSI, tookMs: 2_000 }),
    series: histogramSeries(
      'volume_operation_total_seconds',
      `operation_name="overall_volume_mount",plugin_name="${CSI}"`,
      BOUNDS,
      [2],
    ),
  },
  'the volumes that pods need, and those that are set up': {
    observe(registry) {
      registry.source(() => volumeCountMetrics(counts), VOLUME_DECLARATIONS);
      return () => undefined;
    },
    publish() {
      counts.wanted.set(CSI, 3);
      counts.ready.set(CSI, 2);
    },
    series: [
      `volume_manager_total_volumes{plugin_name="${CSI}",state="actual_state_of_world"} 2`,
      `volume_manager_total_volumes{plugin_name="${CSI}",state="desired_state_of_world"} 3`,
    ],
  },
});
