import { counter, gauge, histogram, sampled } from '../../base/metrics/declaration.ts';
import type { Metric, MetricRegistry } from '../../base/metrics/metric-registry.ts';
import type { JavaScriptEngine } from '../../host/javascript-engine.ts';

/** Metrics without a stability level: they are Nodelet's own. */
const OWN = { stability: undefined } as const;
const HEAP_USED = gauge('nodelet_heap_used_bytes', 'Used bytes of the heap of the JavaScript engine, by space', {
  labels: ['space'],
  ...OWN,
});
const HEAP_SIZE = gauge('nodelet_heap_size_bytes', 'Size of the heap of the JavaScript engine in bytes, by space', {
  labels: ['space'],
  ...OWN,
});
const ACTIVE = counter('nodelet_event_loop_active_seconds_total', 'Time that the event loop ran code', OWN);
const IDLE = counter('nodelet_event_loop_idle_seconds_total', 'Time that the event loop waited', OWN);
const LAG = gauge('nodelet_event_loop_lag_seconds', 'How much later than asked for a timer ran at the scrape', OWN);
const PAUSES = histogram('nodelet_gc_pause_seconds', 'Pauses of the process for garbage collections, by kind', {
  labels: ['kind'],
  buckets: [0.0001, 0.0005, 0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1],
  ...OWN,
});

export const ENGINE_DECLARATIONS = [HEAP_USED, HEAP_SIZE, ACTIVE, IDLE, LAG];

export function observePauses(registry: MetricRegistry, engine: JavaScriptEngine): () => void {
  const pauses = registry.histogram(PAUSES);
  return engine.observePauses(({ kind, tookMs }) => pauses.observe(tookMs / 1000, { kind }));
}

export async function engineMetrics(engine: JavaScriptEngine): Promise<readonly Metric[]> {
  const spaces = engine.heapSpaces();
  const { activeMs, idleMs } = engine.eventLoopTimes();
  return [
    sampled(
      HEAP_USED,
      spaces.map(({ name, usedBytes }) => ({ labels: { space: name }, value: usedBytes })),
    ),
    sampled(
      HEAP_SIZE,
      spaces.map(({ name, sizeBytes }) => ({ labels: { space: name }, value: sizeBytes })),
    ),
    sampled(ACTIVE, [{ value: activeMs / 1000 }]),
    sampled(IDLE, [{ value: idleMs / 1000 }]),
    sampled(LAG, [{ value: (await engine.timerLagMs()) / 1000 }]),
  ];
}
