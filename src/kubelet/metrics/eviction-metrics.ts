import { counter } from '../../base/metrics/declaration.ts';
import type { MetricRegistry } from '../../base/metrics/metric-registry.ts';
import { evictionChannel } from '../eviction/eviction-channel.ts';

const EVICTIONS = counter('kubelet_evictions', 'Cumulative number of pod evictions by eviction signal', {
  labels: ['eviction_signal'],
});

export function observeEvictions(registry: MetricRegistry): () => void {
  const evictions = registry.counter(EVICTIONS);
  return evictionChannel.subscribe(({ signal }) => evictions.increment({ eviction_signal: signal }));
}
