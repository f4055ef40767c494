import type { CgroupDetails, PressureStall } from '../../host/cgroup-stats.ts';
import type { CgroupView } from './cgroup-view.ts';
import { counter, gauge, labelled, type PageMetric, type PageValue, seconds } from './metric-table.ts';

type Row = PageMetric<CgroupView>;

/** Only of cgroups with a quota. */
const throttled = (name: string, help: string, read: (cpu: CgroupDetails['cpu']) => number): Row =>
  counter(`container_cpu_cfs_${name}_total`, help, ({ figures: { cpu, limits } }) =>
    limits.cpuQuotaMicroseconds === undefined ? undefined : read(cpu),
  );

/** kubelet's cAdvisor runs without its reader of loads: these are always zero. */
const TASK_STATES = ['iowaiting', 'running', 'sleeping', 'stopped', 'uninterruptible'];

const CPU: readonly Row[] = [
  throttled('burst_periods', 'Number of periods when burst occurs.', ({ burstPeriods }) => burstPeriods),
  throttled('burst_seconds', 'Total time duration the container has been bursted.', ({ burstNs }) => seconds(burstNs)),
  throttled('periods', 'Number of elapsed enforcement period intervals.', ({ periods }) => periods),
  throttled('throttled_periods', 'Number of throttled period intervals.', ({ throttledPeriods }) => throttledPeriods),
  throttled('throttled_seconds', 'Total time duration the container has been throttled.', ({ throttledNs }) =>
    seconds(throttledNs),
  ),
  gauge('container_cpu_load_average_10s', 'Value of container cpu load average over the last 10 seconds.', () => 0),
  gauge('container_cpu_load_d_average_10s', 'Value of container cpu load.d average over the last 10 seconds.', () => 0),
  counter('container_cpu_system_seconds_total', 'Cumulative system cpu time consumed in seconds.', ({ figures }) =>
    seconds(figures.cpu.systemNs),
  ),
  labelled<CgroupView>({
    name: 'container_cpu_usage_seconds_total',
    type: 'counter',
    help: 'Cumulative cpu time consumed in seconds.',
    labelNames: ['cpu'],
    values: ({ figures: { cpuNs } }) => (cpuNs === 0n ? [] : [{ labels: ['total'], value: seconds(cpuNs) }]),
  }),
  counter('container_cpu_user_seconds_total', 'Cumulative user cpu time consumed in seconds.', ({ figures }) =>
    seconds(figures.cpu.userNs),
  ),
  labelled<CgroupView>({
    name: 'container_tasks_state',
    type: 'gauge',
    help: 'Number of tasks in given state',
    labelNames: ['state'],
    values: () => TASK_STATES.map((state) => ({ labels: [state], value: 0 })),
  }),
];

const memory = (name: string, help: string, read: (figures: CgroupDetails) => number): Row =>
  gauge(`container_memory_${name}`, help, ({ figures }) => read(figures));

const MEMORY: readonly Row[] = [
  memory('cache', 'Number of bytes of page cache memory.', ({ memoryDetails }) => memoryDetails.cacheBytes),
  counter(
    'container_memory_failcnt',
    'Number of memory usage hits limits',
    ({ figures }) => figures.memoryDetails.limitHits,
  ),
  labelled<CgroupView>({
    name: 'container_memory_failures_total',
    type: 'counter',
    help: 'Cumulative count of memory allocation failures.',
    labelNames: ['failure_type', 'scope'],
    values: ({ figures }) => [
      ...inBothScopes('pgfault', figures.memory.pageFaults), // words: quoted
      ...inBothScopes('pgmajfault', figures.memory.majorPageFaults), // words: quoted
    ],
  }),
  memory('kernel_usage', 'Size of kernel memory allocated in bytes.', ({ memoryDetails }) => memoryDetails.kernelBytes),
  memory('mapped_file', 'Size of memory mapped files in bytes.', ({ memoryDetails }) => memoryDetails.mappedFileBytes),
  memory(
    'max_usage_bytes',
    'Maximum memory usage recorded in bytes',
    ({ memoryDetails }) => memoryDetails.maxUsageBytes,
  ),
  memory('rss', 'Size of RSS in bytes.', (figures) => figures.memory.rssBytes),
  memory('swap', 'Container swap usage in bytes.', ({ swap }) => swap?.usageBytes ?? 0),
  memory(
    'total_active_file_bytes',
    'Current total active file in bytes.',
    ({ memoryDetails }) => memoryDetails.activeFileBytes,
  ),
  memory(
    'total_inactive_file_bytes',
    'Current total inactive file in bytes.',
    ({ memoryDetails }) => memoryDetails.inactiveFileBytes,
  ),
  memory(
    'usage_bytes',
    'Current memory usage in bytes, including all memory regardless of when it was accessed',
    (figures) => figures.memory.usageBytes,
  ),
  memory('working_set_bytes', 'Current working set in bytes.', (figures) => figures.memory.workingSetBytes),
  counter(
    'container_oom_events_total',
    'Count of out of memory events observed for the container',
    ({ figures }) => figures.memoryDetails.oomKills,
  ),
];

/** cAdvisor shows the same figure for the cgroup and for the cgroups below it. */
function inBothScopes(type: string, value: number): readonly PageValue[] {
  return ['container', 'hierarchy'].map((scope) => ({ labels: [type, scope], value }));
}

type Resource = 'cpu' | 'memory' | 'io';

/** Only where the kernel counts pressure. */
const pressure = (resource: Resource, kind: keyof PressureStall, help: string): Row =>
  counter(
    `container_pressure_${resource}_${kind === 'full' ? 'stalled' : 'waiting'}_seconds_total`,
    help,
    ({ figures }) => figures.pressure && Number(figures.pressure[resource][kind].totalMicroseconds) / 1e6,
  );

const NO_PROGRESS = 'Total time duration no tasks in the container could make progress due to';
const WAITED = 'Total time duration tasks in the container have waited due to';

const PRESSURE: readonly Row[] = [
  pressure('cpu', 'full', `${NO_PROGRESS} CPU congestion.`),
  pressure('cpu', 'some', `${WAITED} CPU congestion.`),
  pressure('io', 'full', `${NO_PROGRESS} IO congestion.`),
  pressure('io', 'some', `${WAITED} IO congestion.`),
  pressure('memory', 'full', `${NO_PROGRESS} memory congestion.`),
  pressure('memory', 'some', `${WAITED} memory congestion.`),
];

/** CPU, memory and pressure. */
export const USAGE_METRICS: readonly Row[] = [...CPU, ...MEMORY, ...PRESSURE];
