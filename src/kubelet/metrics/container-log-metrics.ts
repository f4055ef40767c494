import { gauge, sampled } from '../../base/metrics/declaration.ts';
import type { Metric } from '../../base/metrics/metric-registry.ts';
import type { Clock } from '../../host/clock.ts';
import type { StatsSource } from '../stats/stats-source.ts';

const USED = gauge(
  'kubelet_container_log_filesystem_used_bytes',
  "Bytes used by the container's logs on the filesystem.",
  { labels: ['uid', 'namespace', 'pod', 'container'] },
);
/** A scrape shows no logs if the statistics take longer. */
const DEADLINE_MS = 10_000;

export const CONTAINER_LOG_DECLARATIONS = [USED];

/** The logs of containers, as the statistics measured them last. */
export async function containerLogMetrics(
  stats: Pick<StatsSource, 'pods'>,
  clock: Pick<Clock, 'deadline'>,
): Promise<readonly Metric[]> {
  const pods = await stats.pods(clock.deadline(DEADLINE_MS)).catch(() => []);
  const samples = pods.flatMap(({ podRef: { uid, namespace, name }, containers }) =>
    containers.flatMap(({ name: container, logs }) =>
      logs?.usedBytes === undefined
        ? []
        : [{ labels: { uid, namespace, pod: name, container }, value: logs.usedBytes }],
    ),
  );
  return [sampled(USED, samples)];
}
