import type { ContainerStats, PodStats, Summary, SwapStats } from '../../api/stats-summary.ts';
import type { Log } from '../../base/log.ts';
import type { Labels, Metric, Sample } from '../../base/metrics/metric-registry.ts';
import { parseNanoTime } from '../../base/rfc3339.ts';
import type { StatsSource } from '../stats/stats-source.ts';

const NS_PER_SECOND = 1e9;
const ERROR_HELP = '[STABLE] 1 if there was an error while getting container metrics, 0 otherwise';

/** A value with the time of its reading. */
interface TimedValue {
  readonly time: string;
  readonly value: number | undefined;
}

/** The metrics of `/metrics/resource`, under kubelet's names. */
export async function resourceMetrics(stats: StatsSource, log: Log, signal: AbortSignal): Promise<readonly Metric[]> {
  try {
    const summary = await stats.summary({ onlyCpuAndMemory: true }, signal);
    return [...summaryMetrics(summary), scrapeError(0)];
  } catch (error) {
    log.warn('cannot read the statistics for /metrics/resource', { error });
    return [scrapeError(1)];
  }
}

function summaryMetrics({ node, pods }: Summary): readonly Metric[] {
  const sample = sampler();
  const containers = pods.flatMap((pod) => pod.containers.map((container) => ({ pod, container })));
  const ofContainers = (read: (container: ContainerStats) => TimedValue | undefined): readonly Sample[] =>
    containers.flatMap(({ pod, container }) => sample(read(container), containerLabels(pod, container)));
  const ofPods = (read: (pod: PodStats) => TimedValue | undefined): readonly Sample[] =>
    pods.flatMap((pod) => sample(read(pod), podLabels(pod)));
  return [
    counter('node_cpu_usage_seconds_total', '[STABLE] Cumulative cpu time consumed by the node in core-seconds', [
      ...sample(cpuSeconds(node), {}),
    ]),
    gauge('node_memory_working_set_bytes', '[STABLE] Current working set of the node in bytes', [
      ...sample(workingSet(node), {}),
    ]),
    gauge('node_swap_usage_bytes', swapHelp('swap usage of the node', ''), [...sample(swapUsage(node), {})]),
    gauge(
      'container_start_time_seconds',
      '[STABLE] Start time of the container since unix epoch in seconds',
      containers.flatMap(({ pod, container }) => startTime(container, containerLabels(pod, container))),
    ),
    counter(
      'container_cpu_usage_seconds_total',
      '[STABLE] Cumulative cpu time consumed by the container in core-seconds',
      ofContainers(cpuSeconds),
    ),
    gauge(
      'container_memory_working_set_bytes',
      '[STABLE] Current working set of the container in bytes',
      ofContainers(workingSet),
    ),
    gauge('container_swap_usage_bytes', swapHelp('container swap usage', 'amount of the '), ofContainers(swapUsage)),
    gauge('container_swap_limit_bytes', swapHelp('container swap limit', 'amount of the '), ofContainers(swapLimit)),
    counter(
      'pod_cpu_usage_seconds_total',
      '[STABLE] Cumulative cpu time consumed by the pod in core-seconds',
      ofPods(cpuSeconds),
    ),
    gauge('pod_memory_working_set_bytes', '[STABLE] Current working set of the pod in bytes', ofPods(workingSet)),
    gauge('pod_swap_usage_bytes', swapHelp('pod swap usage', 'amount of the '), ofPods(swapUsage)),
  ];
}

type WithUsage = Pick<ContainerStats, 'cpu' | 'memory' | 'swap'>;

function cpuSeconds({ cpu }: WithUsage): TimedValue | undefined {
  const { usageCoreNanoSeconds: ns } = cpu ?? {};
  return cpu && { time: cpu.time, value: ns === undefined ? undefined : ns / NS_PER_SECOND };
}

function workingSet({ memory }: WithUsage): TimedValue | undefined {
  return memory && { time: memory.time, value: memory.workingSetBytes };
}

function swapUsage({ swap }: WithUsage): TimedValue | undefined {
  return swap && { time: swap.time, value: swap.swapUsageBytes };
}

function swapLimit({ swap }: WithUsage): TimedValue | undefined {
  return swap && { time: swap.time, value: limitOf(swap) };
}

function limitOf({ swapAvailableBytes: available, swapUsageBytes: used = 0 }: SwapStats): number | undefined {
  return available === undefined ? undefined : available + used;
}

function startTime(container: ContainerStats, labels: Labels): readonly Sample[] {
  const ns = parseNanoTime(container.startTime);
  return ns < BigInt(NS_PER_SECOND) ? [] : [{ labels, value: Number(ns) / NS_PER_SECOND }];
}

/** Makes the samples of one scrape, most of which have the same time. */
function sampler(): (read: TimedValue | undefined, labels: Labels) => readonly Sample[] {
  const timestamps = new Map<string, number>();
  return (read, labels) => {
    if (read?.value === undefined) return [];
    const timestampMs = timestamps.get(read.time) ?? Number(parseNanoTime(read.time) / 1_000_000n);
    timestamps.set(read.time, timestampMs);
    return [{ labels, value: read.value, timestampMs }];
  };
}

/** In the order of their names, as Prometheus' client writes them. */
function containerLabels({ podRef }: PodStats, { name }: ContainerStats): Labels {
  return { container: name, namespace: podRef.namespace, pod: podRef.name };
}

function podLabels({ podRef }: PodStats): Labels {
  return { namespace: podRef.namespace, pod: podRef.name };
}

function swapHelp(what: string, before: string): string {
  return `[ALPHA] Current ${before}${what} in bytes. Reported only on non-windows systems`;
}

function scrapeError(value: number): Metric {
  return gauge('resource_scrape_error', ERROR_HELP, [{ value }]);
}

function gauge(name: string, help: string, samples: readonly Sample[]): Metric {
  return { type: 'gauge', name, help, samples };
}

function counter(name: string, help: string, samples: readonly Sample[]): Metric {
  return { type: 'counter', name, help, samples };
}
