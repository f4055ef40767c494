import type { Metric } from '../../base/metrics/metric-registry.ts';
import type { AgentView } from '../explain/agent-view.ts';

/** The certificates of pods, under kubelet's name. Absent without such a pod. */
export function podCertificateMetrics(view: Pick<AgentView, 'podCertificates'>): readonly Metric[] {
  const counts = view.podCertificates();
  if (counts.length === 0) return [];
  return [
    {
      name: 'kubelet_podcertificate_states',
      type: 'gauge',
      help: '[ALPHA] Gauge vector reporting the number of pod certificate projected volume sources, faceted by signer_name and state.',
      samples: counts.map(({ signerName, state, count }) => ({
        labels: { signer_name: signerName, state },
        value: count,
      })),
    },
  ];
}
