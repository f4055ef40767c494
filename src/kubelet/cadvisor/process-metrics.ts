import type { InterfaceCounters } from '../../host/network-namespaces.ts';
import type { CgroupView } from './cgroup-view.ts';
import { gauge, labelled, type PageMetric, untimedGauge } from './metric-table.ts';

type Row = PageMetric<CgroupView>;

const network = (name: string, help: string, read: (each: InterfaceCounters) => bigint): Row =>
  labelled<CgroupView>({
    name: `container_network_${name}_total`,
    type: 'counter',
    help,
    labelNames: ['interface'],
    values: ({ interfaces }) => interfaces.map((each) => ({ labels: [each.name], value: Number(read(each)) })),
  });

const NETWORK: readonly Row[] = [
  network('receive_bytes', 'Cumulative count of bytes received', ({ received }) => received.bytes),
  network(
    'receive_errors',
    'Cumulative count of errors encountered while receiving',
    ({ received }) => received.errors,
  ),
  network(
    'receive_packets_dropped',
    'Cumulative count of packets dropped while receiving',
    ({ received }) => received.dropped,
  ),
  network('receive_packets', 'Cumulative count of packets received', ({ received }) => received.packets),
  network('transmit_bytes', 'Cumulative count of bytes transmitted', ({ sent }) => sent.bytes),
  network('transmit_errors', 'Cumulative count of errors encountered while transmitting', ({ sent }) => sent.errors),
  network(
    'transmit_packets_dropped',
    'Cumulative count of packets dropped while transmitting',
    ({ sent }) => sent.dropped,
  ),
  network('transmit_packets', 'Cumulative count of packets transmitted', ({ sent }) => sent.packets),
];

const PROCESSES: readonly Row[] = [
  gauge(
    'container_file_descriptors',
    'Number of open file descriptors for the container.',
    ({ openFiles }) => openFiles.descriptors,
  ),
  // kubelet's containers have no health check of the runtime.
  gauge('container_health_state', "The result of the container's health check", () => -1),
  gauge('container_last_seen', 'Last time a container was seen by the exporter', ({ timeMs }) =>
    Math.trunc(timeMs / 1000),
  ),
  gauge(
    'container_processes',
    'Number of processes running inside the container.',
    ({ figures }) => figures.processes.length,
  ),
  gauge('container_sockets', 'Number of open sockets for the container.', ({ openFiles }) => openFiles.sockets),
  gauge(
    'container_threads_max',
    'Maximum number of threads allowed inside the container, infinity if value is zero',
    ({ figures }) => figures.threadsLimit ?? 0,
  ),
  gauge('container_threads', 'Number of threads running inside the container', ({ figures }) => figures.threads),
  labelled<CgroupView>({
    name: 'container_ulimits_soft',
    type: 'gauge',
    help: 'Soft ulimit values for the container root process. Unlimited if -1, except priority and nice',
    labelNames: ['ulimit'],
    values: ({ fileLimit }) =>
      fileLimit === undefined
        ? []
        : [{ labels: ['max_open_files'], value: fileLimit === 'unlimited' ? -1 : fileLimit }],
  }),
];

/** A limit that is absent is zero, as in cAdvisor. */
const spec = (name: string, help: string, read: (figures: CgroupView['figures']) => number | undefined): Row =>
  untimedGauge(`container_spec_${name}`, help, ({ figures }) => read(figures));

const LIMITS: readonly Row[] = [
  spec('cpu_period', 'CPU period of the container.', ({ limits }) => limits.cpuPeriodMicroseconds ?? 0),
  spec('cpu_quota', 'CPU quota of the container.', ({ limits }) => limits.cpuQuotaMicroseconds),
  spec('cpu_shares', 'CPU share of the container.', ({ limits }) => limits.cpuShares ?? 0),
  spec('memory_limit_bytes', 'Memory limit for the container.', ({ memory }) => memory.limitBytes ?? 0),
  spec(
    'memory_reservation_limit_bytes',
    'Memory reservation limit for the container.',
    ({ limits }) => limits.memoryReservationBytes ?? 0,
  ),
  untimedGauge(
    'container_spec_memory_swap_limit_bytes',
    'Memory swap limit for the container.',
    ({ swapLimitBytes }) => swapLimitBytes ?? 0,
  ),
  untimedGauge(
    'container_start_time_seconds',
    'Start time of the container since unix epoch in seconds.',
    ({ createdSeconds }) => createdSeconds,
  ),
];

/** Networks, processes and limits. */
export const PROCESS_METRICS: readonly Row[] = [...NETWORK, ...PROCESSES, ...LIMITS];
