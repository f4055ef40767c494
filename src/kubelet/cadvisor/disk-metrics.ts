import type { DeviceTraffic } from '../../host/cgroup-stats.ts';
import type { CgroupView, FileSystemView } from './cgroup-view.ts';
import type { DiskCounters } from './disk-counters.ts';
import { labelled, type PageMetric, type PageValue } from './metric-table.ts';

type Row = PageMetric<CgroupView>;
type ReadFileSystem = (each: FileSystemView) => number | undefined;
type ReadCounters = (counters: DiskCounters) => number;
type ReadTraffic = (traffic: DeviceTraffic) => bigint;

function ofDevices(type: Row['type'], name: string, help: string, values: Row['values']): Row {
  return labelled<CgroupView>({ name: `container_fs_${name}`, type, help, labelNames: ['device'], values });
}

const fileSystem = (name: string, help: string, read: ReadFileSystem): Row =>
  ofDevices('gauge', name, help, ({ fileSystems }) => fileSystemValues(fileSystems, read));

/** Of the machine's disks alone. */
const disk = (type: Row['type'], name: string, help: string, read: ReadCounters): Row =>
  ofDevices(type, name, help, ({ fileSystems }) =>
    fileSystemValues(fileSystems, ({ counters }) => counters && read(counters)),
  );

/** What the cgroup has transferred, and for the machine what its disks have. */
const traffic = (name: string, help: string, read: ReadTraffic, ofDisk?: ReadCounters): Row =>
  ofDevices('counter', name, help, ({ figures, fileSystems, deviceName }) => {
    const own = figures.devices.map((each) => ({
      labels: [deviceName(`${each.major}:${each.minor}`)],
      value: Number(read(each)),
    }));
    const disks = ofDisk ? fileSystemValues(fileSystems, ({ counters }) => counters && ofDisk(counters)) : [];
    return [...own.filter(({ labels }) => !disks.some((each) => each.labels?.[0] === labels[0])), ...disks];
  });

function fileSystemValues(fileSystems: readonly FileSystemView[], read: ReadFileSystem): readonly PageValue[] {
  return fileSystems.flatMap((each) => {
    const value = read(each);
    return value === undefined ? [] : [{ labels: [each.device], value }];
  });
}

const inSeconds = (ms: number): number => ms / 1000;

/** File systems and block devices. */
export const DISK_METRICS: readonly Row[] = [
  labelled<CgroupView>({
    name: 'container_blkio_device_usage_total',
    type: 'counter',
    help: 'Blkio Device bytes usage',
    labelNames: ['device', 'major', 'minor', 'operation'],
    values: ({ figures, deviceName }) =>
      figures.devices.flatMap(({ major, minor, readBytes, writeBytes }) => {
        const device = [deviceName(`${major}:${minor}`), String(major), String(minor)];
        return [
          { labels: [...device, 'Read'], value: Number(readBytes) },
          { labels: [...device, 'Write'], value: Number(writeBytes) },
        ];
      }),
  }),
  fileSystem('inodes_free', 'Number of available Inodes', ({ inodesFree }) => inodesFree),
  fileSystem('inodes_total', 'Number of Inodes', ({ inodes }) => inodes),
  disk('gauge', 'io_current', 'Number of I/Os currently in progress', ({ inProgress }) => inProgress),
  disk('counter', 'io_time_seconds_total', 'Cumulative count of seconds spent doing I/Os', ({ ioMs }) =>
    inSeconds(ioMs),
  ),
  disk('counter', 'io_time_weighted_seconds_total', 'Cumulative weighted I/O time in seconds', ({ weightedMs }) =>
    inSeconds(weightedMs),
  ),
  fileSystem(
    'limit_bytes',
    'Number of bytes that can be consumed by the container on this filesystem.',
    ({ capacityBytes }) => capacityBytes,
  ),
  disk('counter', 'read_seconds_total', 'Cumulative count of seconds spent reading', ({ readMs }) => inSeconds(readMs)),
  traffic('reads_bytes_total', 'Cumulative count of bytes read', ({ readBytes }) => readBytes),
  disk('counter', 'reads_merged_total', 'Cumulative count of reads merged', ({ readsMerged }) => readsMerged),
  traffic(
    'reads_total',
    'Cumulative count of reads completed',
    ({ reads }) => reads,
    ({ reads }) => reads,
  ),
  disk('counter', 'sector_reads_total', 'Cumulative count of sector reads completed', ({ sectorsRead }) => sectorsRead),
  disk(
    'counter',
    'sector_writes_total',
    'Cumulative count of sector writes completed',
    ({ sectorsWritten }) => sectorsWritten,
  ),
  fileSystem(
    'usage_bytes',
    'Number of bytes that are consumed by the container on this filesystem.',
    ({ usedBytes }) => usedBytes,
  ),
  disk('counter', 'write_seconds_total', 'Cumulative count of seconds spent writing', ({ writeMs }) =>
    inSeconds(writeMs),
  ),
  traffic('writes_bytes_total', 'Cumulative count of bytes written', ({ writeBytes }) => writeBytes),
  disk('counter', 'writes_merged_total', 'Cumulative count of writes merged', ({ writesMerged }) => writesMerged),
  traffic(
    'writes_total',
    'Cumulative count of writes completed',
    ({ writes }) => writes,
    ({ writes }) => writes,
  ),
];
