import { counter, histogram } from '../../base/metrics/declaration.ts';
import type { MetricRegistry } from '../../base/metrics/metric-registry.ts';
import { evictionChannel } from '../eviction/eviction-channel.ts';

const EVICTIONS = counter('kubelet_evictions', 'Cumulative number of pod evictions by eviction signal', {
  labels: ['eviction_signal'],
});
const STATS_AGE = histogram(
  'kubelet_eviction_stats_age_seconds',
  'Time between when stats are collected, and when pod is evicted based on those stats by eviction signal',
  { labels: ['eviction_signal'] },
);

export function observeEvictions(registry: MetricRegistry): () => void {
  const evictions = registry.counter(EVICTIONS);
  const statsAge = registry.histogram(STATS_AGE);
  return evictionChannel.subscribe((message) => {
    const labels = { eviction_signal: message.signal };
    if (message.kind === 'evicted') evictions.increment(labels);
    else statsAge.observe(message.ageMs / 1000, labels);
  });
}
