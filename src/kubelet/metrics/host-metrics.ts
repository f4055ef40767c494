import { counter, histogram } from '../../base/metrics/declaration.ts';
import type { MetricRegistry } from '../../base/metrics/metric-registry.ts';
import { hookChannel } from '../hooks/hook-channel.ts';
import { cgroupChannel } from '../resources/cgroup-channel.ts';

const CGROUPS = histogram(
  'kubelet_cgroup_manager_duration_seconds',
  'Duration in seconds for cgroup manager operations. Broken down by method.',
  { labels: ['operation_type'] },
);
const HTTP_FALLBACKS = counter(
  'kubelet_lifecycle_handler_http_fallbacks_total',
  'The number of times lifecycle handlers successfully fell back to http from https.',
);
const EARLY_SLEEPS = counter(
  'kubelet_sleep_action_terminated_early_total',
  'The number of times lifecycle sleep handler got terminated before it finishes',
);

export function observeCgroups(registry: MetricRegistry): () => void {
  const cgroups = registry.histogram(CGROUPS);
  return cgroupChannel.subscribe(({ operation, tookMs }) =>
    cgroups.observe(tookMs / 1000, { operation_type: operation }),
  );
}

export function observeHooks(registry: MetricRegistry): () => void {
  const fallbacks = registry.counter(HTTP_FALLBACKS);
  const sleeps = registry.counter(EARLY_SLEEPS);
  return hookChannel.subscribe(({ kind }) => (kind === 'httpFallback' ? fallbacks : sleeps).increment());
}
