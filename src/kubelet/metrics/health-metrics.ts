import { counter, gauge } from '../../base/metrics/declaration.ts';
import type { MetricRegistry } from '../../base/metrics/metric-registry.ts';
import { healthChannel } from '../server/health-channel.ts';

const HEALTHCHECK = gauge('kubernetes_healthcheck', 'This metric records the result of a single healthcheck.', {
  labels: ['name', 'type'],
  stability: 'STABLE',
});
const HEALTHCHECKS = counter('kubernetes_healthchecks_total', 'This metric records the results of all healthcheck.', {
  labels: ['name', 'type', 'status'],
  stability: 'STABLE',
});

/** The metrics of `/metrics/slis`: the checks of `/healthz` that were asked for. */
export function observeHealth(registry: MetricRegistry): () => void {
  const healthcheck = registry.gauge(HEALTHCHECK);
  const healthchecks = registry.counter(HEALTHCHECKS);
  return healthChannel.subscribe(({ name, isHealthy }) => {
    healthcheck.set(Number(isHealthy), { name, type: 'healthz' });
    healthchecks.increment({ name, type: 'healthz', status: isHealthy ? 'success' : 'error' });
  });
}
