import { counter, histogram } from '../../base/metrics/declaration.ts';
import type { MetricRegistry } from '../../base/metrics/metric-registry.ts';
import { probeChannel } from '../probes/probe-channel.ts';
import type { ProbeKind } from '../probes/probe-results.ts';

const RESULTS = counter(
  'prober_probe_total',
  'Cumulative number of a liveness, readiness or startup probe for a container by result.',
  { labels: ['probe_type', 'result', 'container', 'pod', 'namespace', 'pod_uid'], stability: 'BETA' },
);
const DURATION = histogram('prober_probe_duration_seconds', 'Duration in seconds for a probe response.', {
  labels: ['probe_type', 'container', 'pod', 'namespace'],
});

const PROBE_TYPES: Readonly<Record<ProbeKind, string>> = {
  startup: 'Startup',
  readiness: 'Readiness',
  liveness: 'Liveness',
};

/** The metrics of `/metrics/probes`. The series of a pod end with its probes. */
export function observeProbes(registry: MetricRegistry): () => void {
  const results = registry.counter(RESULTS);
  const duration = registry.histogram(DURATION);
  return probeChannel.subscribe((message) => {
    const { namespace, pod, uid } = message.of;
    if (message.kind === 'forgotten') {
      results.forget({ pod_uid: uid });
      duration.forget({ namespace, pod });
      return;
    }
    const { probe, result, tookMs } = message;
    const labels = { probe_type: PROBE_TYPES[probe], container: message.of.container, pod, namespace };
    results.increment({ ...labels, result, pod_uid: uid });
    // As in kubelet, failed probes have no duration.
    if (result !== 'failed') duration.observe(tookMs / 1000, labels);
  });
}
