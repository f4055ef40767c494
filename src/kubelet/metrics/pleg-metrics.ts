import { assertNever } from '../../base/assert-never.ts';
import { counter, gauge, histogram } from '../../base/metrics/declaration.ts';
import type { MetricRegistry } from '../../base/metrics/metric-registry.ts';
import type { Clock } from '../../host/clock.ts';
import { plegChannel } from '../pleg/pleg-channel.ts';

const RELIST_DURATION = histogram(
  'kubelet_pleg_relist_duration_seconds',
  'Duration in seconds for relisting pods in PLEG.',
);
const RELIST_INTERVAL = histogram(
  'kubelet_pleg_relist_interval_seconds',
  'Interval in seconds between relisting in PLEG.',
);
const POD_RELIST_DURATION = histogram(
  'kubelet_pleg_pod_relist_duration_seconds',
  'Duration in seconds for relisting a single pod in PLEG.',
);
const LAST_SEEN = gauge('kubelet_pleg_last_seen_seconds', 'Timestamp in seconds when PLEG was last seen active.');
const CONNECTION_ERRORS = counter(
  'kubelet_evented_pleg_connection_error_count',
  'The number of errors encountered during the establishment of streaming connection with the CRI runtime.',
);
const CONNECTIONS = counter(
  'kubelet_evented_pleg_connection_success_count',
  'The number of times a streaming client was obtained to receive CRI Events.',
);
const CONNECTION_LATENCY = histogram(
  'kubelet_evented_pleg_connection_latency_seconds',
  'The latency of streaming connection with the CRI runtime, measured in seconds.',
);

export function observePleg(registry: MetricRegistry, clock: Pick<Clock, 'now' | 'monotonic'>): () => void {
  const relistDuration = registry.histogram(RELIST_DURATION);
  const relistInterval = registry.histogram(RELIST_INTERVAL);
  const podRelistDuration = registry.histogram(POD_RELIST_DURATION);
  const lastSeen = registry.gauge(LAST_SEEN);
  const connectionErrors = registry.counter(CONNECTION_ERRORS);
  const connections = registry.counter(CONNECTIONS);
  const connectionLatency = registry.histogram(CONNECTION_LATENCY);
  let lastRelistMs: number | undefined;

  const onRelisted = (tookMs: number): void => {
    const beganMs = clock.monotonic() - tookMs;
    relistDuration.observe(tookMs / 1000);
    if (lastRelistMs !== undefined) relistInterval.observe((beganMs - lastRelistMs) / 1000);
    lastRelistMs = beganMs;
    lastSeen.set(Math.floor((clock.now() - tookMs) / 1000));
  };
  return plegChannel.subscribe((message) => {
    switch (message.kind) {
      case 'relisted':
        return onRelisted(message.tookMs);
      case 'inspected':
        return podRelistDuration.observe(message.tookMs / 1000);
      case 'connected':
        return connections.increment();
      case 'connectionFailed':
        return connectionErrors.increment();
      case 'event':
        lastSeen.set(Math.floor(clock.now() / 1000));
        if (message.delayMs !== undefined) connectionLatency.observe(message.delayMs / 1000);
        return;
      default:
        return assertNever(message);
    }
  });
}
