import type { Metric } from '../../base/metrics/metric-registry.ts';
import type { FileSystem } from '../../host/file-system.ts';

/** `USER_HZ`: Linux reports process times in hundredths of a second, independent of its own clock. */
const TICKS_PER_SECOND = 100;
/** The kernel's value for no limit, as the Prometheus client shows it. */
const UNLIMITED = 2 ** 64;

type Files = Pick<FileSystem, 'readText' | 'readDirectory'>;

/** The only metric of the process beside those of `/metrics/probes` and `/metrics/slis`. */
export async function processStart(fs: Pick<FileSystem, 'readText'>): Promise<readonly Metric[]> {
  const metric = startMetric(await processStartSeconds(fs));
  return [{ ...metric, help: `[ALPHA] ${metric.help}` }];
}

/** When this process started, since the Unix epoch; `undefined` if the kernel does not say. */
export async function processStartSeconds(fs: Pick<FileSystem, 'readText'>): Promise<number | undefined> {
  const [stat, machine] = await Promise.all([fs.readText('/proc/self/stat'), fs.readText('/proc/stat')]);
  return startSeconds(statFields(stat), machine);
}

/** Wall-clock milliseconds of the start of the machine; `undefined` if the kernel does not say. */
export async function bootTimeMs(fs: Pick<FileSystem, 'readText'>): Promise<number | undefined> {
  const seconds = bootSecondsIn(await fs.readText('/proc/stat').catch(() => ''));
  return seconds === undefined ? undefined : seconds * 1000;
}

/** Metrics of this process from `/proc`. Values that the kernel does not report are left out. */
export async function processMetrics(fs: Files): Promise<readonly Metric[]> {
  const [stat, status, limits, machine, netstat, open] = await Promise.all([
    fs.readText('/proc/self/stat'),
    fs.readText('/proc/self/status'),
    fs.readText('/proc/self/limits'),
    fs.readText('/proc/stat'),
    fs.readText('/proc/self/net/netstat'),
    fs.readDirectory('/proc/self/fd'),
  ]);
  const fields = statFields(stat);
  const network = ipCounters(netstat);
  return [
    counter(
      'process_cpu_seconds_total',
      'Total user and system CPU time spent in seconds.',
      seconds(fields[11], fields[12]),
    ),
    gauge('process_max_fds', 'Maximum number of open file descriptors.', numberIn(/^Max open files +(\d+)/m, limits)),
    counter(
      'process_network_receive_bytes_total',
      'Number of bytes received by the process over the network.',
      network.get('InOctets'),
    ),
    counter(
      'process_network_transmit_bytes_total',
      'Number of bytes sent by the process over the network.',
      network.get('OutOctets'),
    ),
    gauge('process_open_fds', 'Number of open file descriptors.', open.length),
    gauge('process_resident_memory_bytes', 'Resident memory size in bytes.', kilobytes(/^VmRSS:\s+(\d+) kB/m, status)),
    startMetric(startSeconds(fields, machine)),
    gauge('process_virtual_memory_bytes', 'Virtual memory size in bytes.', kilobytes(/^VmSize:\s+(\d+) kB/m, status)),
    gauge(
      'process_virtual_memory_max_bytes',
      'Maximum amount of virtual memory available in bytes.',
      /^Max address space +unlimited/m.test(limits) ? UNLIMITED : numberIn(/^Max address space +(\d+)/m, limits),
    ),
  ];
}

/** The fields of `/proc/PID/stat` from the third on. The command name before them may contain spaces and brackets. */
function statFields(stat: string): readonly number[] {
  return stat
    .slice(stat.lastIndexOf(')') + 2)
    .split(' ')
    .map(Number);
}

function startSeconds(fields: readonly number[], machine: string): number | undefined {
  const bootSeconds = bootSecondsIn(machine);
  return seconds(fields[19], bootSeconds === undefined ? undefined : bootSeconds * TICKS_PER_SECOND);
}

function bootSecondsIn(machine: string): number | undefined {
  return numberIn(/^btime (\d+)/m, machine);
}

function startMetric(value: number | undefined): Metric {
  return gauge('process_start_time_seconds', 'Start time of the process since unix epoch in seconds.', value);
}

/** The counters of IP of the network namespace: a line of names, then a line of values. */
function ipCounters(netstat: string): ReadonlyMap<string, number> {
  const [names = '', values = ''] = netstat.split('\n').filter((line) => line.startsWith('IpExt:'));
  const figures = values.split(' ');
  return new Map(
    names
      .split(' ')
      .map((name, index) => [name, Number(figures[index])] as const)
      .slice(1),
  );
}

function counter(name: string, help: string, value: number | undefined): Metric {
  return { name, type: 'counter', help, samples: value === undefined ? [] : [{ value }] };
}

function gauge(name: string, help: string, value: number | undefined): Metric {
  return { name, type: 'gauge', help, samples: value === undefined ? [] : [{ value }] };
}

function seconds(a: number | undefined, b: number | undefined): number | undefined {
  return a === undefined || b === undefined ? undefined : (a + b) / TICKS_PER_SECOND;
}

function numberIn(pattern: RegExp, text: string): number | undefined {
  const found = pattern.exec(text)?.[1];
  return found === undefined ? undefined : Number(found);
}

function kilobytes(pattern: RegExp, text: string): number | undefined {
  const found = numberIn(pattern, text);
  return found === undefined ? undefined : found * 1024;
}
