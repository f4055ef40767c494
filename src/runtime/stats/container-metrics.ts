import { MetricType } from '../../cri/generated/runtime-v1.ts';
import type { CgroupDetails, DeviceTraffic } from '../../host/cgroup-stats.ts';
import type { FileSystemUsage } from '../../host/file-system.ts';
import type { OciResources } from '../oci/oci-spec.ts';
import { counter, gauge, type MetricRow, type MetricValue, seconds } from './metric-row.ts';

/** Input of the metrics of one running container. */
export interface ContainerView {
  readonly figures: CgroupDetails;
  readonly layerBytes: number | undefined;
  readonly resources: OciResources;
  readonly startedAtNs: bigint;
  readonly nowMs: number;
  /** The filesystem of writable layers. */
  readonly layers: FileSystemUsage & { readonly device: string };
  /** `/dev/sda` */
  readonly deviceName: (device: Pick<DeviceTraffic, 'major' | 'minor'>) => string;
}

type Row = MetricRow<ContainerView>;

const CPU: readonly Row[] = [
  counter('container_cpu_user_seconds_total', 'Cumulative user cpu time consumed in seconds.', ({ figures }) =>
    seconds(figures.cpu.userNs),
  ),
  counter('container_cpu_system_seconds_total', 'Cumulative system cpu time consumed in seconds.', ({ figures }) =>
    seconds(figures.cpu.systemNs),
  ),
  {
    ...counter<ContainerView>('container_cpu_usage_seconds_total', 'Cumulative cpu time consumed in seconds.', () => 0),
    labelKeys: ['cpu'],
    values: ({ figures }) => [{ labels: ['total'], value: seconds(figures.cpuNs) }],
  },
  counter(
    'container_cpu_cfs_periods_total',
    'Number of elapsed enforcement period intervals.',
    ({ figures }) => figures.cpu.periods,
  ),
  counter(
    'container_cpu_cfs_throttled_periods_total',
    'Number of throttled period intervals.',
    ({ figures }) => figures.cpu.throttledPeriods,
  ),
  counter(
    'container_cpu_cfs_throttled_seconds_total',
    'Total time duration the container has been throttled.',
    ({ figures }) => seconds(figures.cpu.throttledNs),
  ),
];

const memoryGauge = (name: string, help: string, value: (figures: CgroupDetails) => number | undefined): Row =>
  gauge(`container_memory_${name}`, help, ({ figures }) => value(figures));

const MEMORY: readonly Row[] = [
  memoryGauge('cache', 'Number of bytes of page cache memory.', ({ memoryDetails }) => memoryDetails.cacheBytes),
  memoryGauge('rss', 'Size of RSS in bytes.', ({ memory }) => memory.rssBytes),
  memoryGauge(
    'kernel_usage',
    'Size of kernel memory allocated in bytes.',
    ({ memoryDetails }) => memoryDetails.kernelBytes,
  ),
  memoryGauge(
    'mapped_file',
    'Size of memory mapped files in bytes.',
    ({ memoryDetails }) => memoryDetails.mappedFileBytes,
  ),
  memoryGauge('swap', 'Container swap usage in bytes.', ({ swap }) => swap?.usageBytes ?? 0),
  memoryGauge(
    'usage_bytes',
    'Current memory usage in bytes, including all memory regardless of when it was accessed',
    (each) => each.memory.usageBytes,
  ),
  memoryGauge(
    'max_usage_bytes',
    'Maximum memory usage recorded in bytes',
    ({ memoryDetails }) => memoryDetails.maxUsageBytes,
  ),
  memoryGauge('working_set_bytes', 'Current working set in bytes.', ({ memory }) => memory.workingSetBytes),
  memoryGauge(
    'total_active_file_bytes',
    'Current total active file in bytes.',
    ({ memoryDetails }) => memoryDetails.activeFileBytes,
  ),
  memoryGauge(
    'total_inactive_file_bytes',
    'Current total inactive file in bytes.',
    ({ memoryDetails }) => memoryDetails.inactiveFileBytes,
  ),
  counter(
    'container_memory_failcnt',
    'Number of memory usage hits limits',
    ({ figures }) => figures.memoryDetails.limitHits,
  ),
  {
    name: 'container_memory_failures_total',
    help: 'Cumulative count of memory allocation failures.',
    type: MetricType.COUNTER,
    labelKeys: ['failure_type', 'scope'],
    values: ({ figures: { memory } }) => [
      { labels: ['pgfault', 'hierarchy'], value: memory.pageFaults }, // words: quoted
      { labels: ['pgmajfault', 'hierarchy'], value: memory.majorPageFaults }, // words: quoted
    ],
  },
  counter(
    'container_oom_events_total',
    'Count of out of memory events observed for the container',
    ({ figures }) => figures.memoryDetails.oomKills,
  ),
];

const layerGauge = (name: string, help: string, value: (view: ContainerView) => number | undefined): Row => ({
  name,
  help,
  type: MetricType.GAUGE,
  labelKeys: ['device'],
  values: (view) => {
    const found = value(view);
    return found === undefined ? [] : [{ labels: [view.layers.device], value: found }];
  },
});

const deviceCounter = (name: string, help: string, value: (device: DeviceTraffic) => bigint): Row => ({
  name,
  help,
  type: MetricType.COUNTER,
  labelKeys: ['device'],
  values: ({ figures, deviceName }) =>
    figures.devices.map((device) => ({ labels: [deviceName(device)], value: value(device) })),
});

const DISK: readonly Row[] = [
  layerGauge('container_fs_inodes_free', 'Number of available Inodes', ({ layers }) => layers.inodesFree),
  layerGauge('container_fs_inodes_total', 'Number of Inodes', ({ layers }) => layers.inodes),
  layerGauge(
    'container_fs_limit_bytes',
    'Number of bytes that can be consumed by the container on this filesystem.',
    ({ layers }) => layers.capacityBytes,
  ),
  layerGauge(
    'container_fs_usage_bytes',
    'Number of bytes that are consumed by the container on this filesystem.',
    ({ layerBytes }) => layerBytes,
  ),
  deviceCounter('container_fs_reads_bytes_total', 'Cumulative count of bytes read', ({ readBytes }) => readBytes),
  deviceCounter('container_fs_reads_total', 'Cumulative count of reads completed', ({ reads }) => reads),
  deviceCounter('container_fs_writes_bytes_total', 'Cumulative count of bytes written', ({ writeBytes }) => writeBytes),
  deviceCounter('container_fs_writes_total', 'Cumulative count of writes completed', ({ writes }) => writes),
  {
    name: 'container_blkio_device_usage_total',
    help: 'Blkio Device bytes usage',
    type: MetricType.COUNTER,
    labelKeys: ['device', 'major', 'minor', 'operation'],
    values: ({ figures, deviceName }) => figures.devices.flatMap((device) => operations(device, deviceName(device))),
  },
];

function operations({ major, minor, readBytes, writeBytes }: DeviceTraffic, name: string): MetricValue[] {
  const device = [name, String(major), String(minor)];
  return [
    { labels: [...device, 'Read'], value: readBytes },
    { labels: [...device, 'Write'], value: writeBytes },
  ];
}

const PROCESSES: readonly Row[] = [
  gauge(
    'container_processes',
    'Number of processes running inside the container.',
    ({ figures }) => figures.processes.length,
  ),
  gauge('container_threads', 'Number of threads running inside the container', ({ figures }) => figures.threads),
  gauge(
    'container_threads_max',
    'Maximum number of threads allowed inside the container, infinity if value is zero',
    ({ figures }) => figures.threadsLimit ?? 0,
  ),
  gauge('container_last_seen', 'Last time a container was seen by the exporter', ({ nowMs }) =>
    Math.trunc(nowMs / 1000),
  ),
  gauge('container_start_time_seconds', 'Start time of the container since unix epoch in seconds.', ({ startedAtNs }) =>
    seconds(startedAtNs),
  ),
];

const LIMITS: readonly Row[] = [
  gauge('container_spec_cpu_period', 'CPU period of the container.', ({ resources }) => resources.cpu?.period),
  gauge('container_spec_cpu_quota', 'CPU quota of the container.', ({ resources }) => positive(resources.cpu?.quota)),
  gauge('container_spec_cpu_shares', 'CPU share of the container.', ({ resources }) => resources.cpu?.shares),
  gauge(
    'container_spec_memory_limit_bytes',
    'Memory limit for the container.',
    ({ resources }) => positive(resources.memory?.limit) ?? 0,
  ),
  gauge(
    'container_spec_memory_reservation_limit_bytes',
    'Memory reservation limit for the container.',
    ({ resources }) => positive(resources.memory?.reservation) ?? 0,
  ),
  gauge(
    'container_spec_memory_swap_limit_bytes',
    'Memory swap limit for the container.',
    ({ resources }) => positive(resources.memory?.swap) ?? 0,
  ),
];

/** -1 means no limit. */
function positive(limit: number | undefined): number | undefined {
  return limit !== undefined && limit > 0 ? limit : undefined;
}

export const CONTAINER_METRICS: readonly Row[] = [...CPU, ...MEMORY, ...DISK, ...PROCESSES, ...LIMITS];
