import type { Metric } from '../../base/metrics/metric-registry.ts';
import type { AgentView } from '../explain/agent-view.ts';

/**
 * Preempted pods, and the last graceful shutdown if its feature gates are on, under kubelet's names. As in kubelet, the
 * times are zero before a shutdown.
 */
export function nodeGuardMetrics(
  view: Pick<AgentView, 'preemptions' | 'shutdownTimes'>,
  showsShutdown: boolean,
): readonly Metric[] {
  const preemptions = [...view.preemptions()].map(([resource, value]) => ({
    labels: { preemption_signal: resource },
    value,
  }));
  const times = view.shutdownTimes();
  return [
    ...(preemptions.length === 0
      ? []
      : [
          {
            name: 'kubelet_preemptions',
            type: 'counter',
            help: '[ALPHA] Cumulative number of pod preemptions by preemption resource',
            samples: preemptions,
          } as const,
        ]),
    ...(showsShutdown
      ? [
          shutdownMetric('start', 'Last graceful shutdown start time since unix epoch in seconds', times?.startMs),
          shutdownMetric('end', 'Last graceful shutdown end time since unix epoch in seconds', times?.endMs),
        ]
      : []),
  ];
}

function shutdownMetric(which: 'start' | 'end', help: string, ms: number | undefined): Metric {
  const name = `kubelet_graceful_shutdown_${which}_time_seconds`;
  return { name, type: 'gauge', help: `[ALPHA] ${help}`, samples: [{ value: Math.floor((ms ?? 0) / 1000) }] };
}
