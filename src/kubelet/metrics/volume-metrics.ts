import { assertNever } from '../../base/assert-never.ts';
import { gauge, histogram, sampled } from '../../base/metrics/declaration.ts';
import type { Metric, MetricRegistry } from '../../base/metrics/metric-registry.ts';
import { volumeChannel } from '../volumes/volume-channel.ts';
import type { VolumeCounts } from '../volumes/volume-counts.ts';

const STORAGE_SECONDS = [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 15, 25, 50, 120, 300, 600];
const OPERATIONS = histogram('storage_operation_duration_seconds', 'Storage operation duration', {
  labels: ['volume_plugin', 'operation_name', 'status', 'migrated'],
  buckets: STORAGE_SECONDS,
});
const TOTAL = histogram('volume_operation_total_seconds', 'Storage operation end to end duration in seconds', {
  labels: ['plugin_name', 'operation_name'],
  buckets: STORAGE_SECONDS,
});
const VOLUMES = gauge('volume_manager_total_volumes', 'Number of volumes in Volume Manager', {
  labels: ['plugin_name', 'state'],
});

export const VOLUME_DECLARATIONS = [VOLUMES];

/** The volumes that pods need, and those that are set up. */
export function volumeCountMetrics({ wanted, ready }: VolumeCounts): readonly Metric[] {
  const samplesOf = (counts: ReadonlyMap<string, number>, state: string) =>
    [...counts].map(([plugin, value]) => ({ labels: { plugin_name: plugin, state }, value }));
  return [
    sampled(VOLUMES, [...samplesOf(ready, 'actual_state_of_world'), ...samplesOf(wanted, 'desired_state_of_world')]),
  ];
}

export function observeVolumes(registry: MetricRegistry): () => void {
  const operations = registry.histogram(OPERATIONS);
  const total = registry.histogram(TOTAL);
  return volumeChannel.subscribe((message) => {
    switch (message.kind) {
      case 'called': {
        const { plugin, operation, isError, isMigrated } = message;
        const status = isError ? 'fail-unknown' : 'success';
        const labels = { volume_plugin: plugin, operation_name: operation, status };
        return operations.observe(message.tookMs / 1000, { ...labels, migrated: String(isMigrated) });
      }
      case 'setUp':
        return total.observe(message.tookMs / 1000, {
          plugin_name: message.plugin,
          operation_name: message.operation,
        });
      default:
        return assertNever(message);
    }
  });
}
