import type { Clock } from '../../../host/clock.ts';
import type { FileSystem } from '../../../host/file-system.ts';
import type { Processes } from '../../../host/processes.ts';
import { exitText, runProgram } from '../mount-helper/run-program.ts';
import { deleteDisk, disksOfMultipath, multipathDevice } from './block-sysfs.ts';
import { untilFound } from './until-found.ts';

const BY_PATH = '/dev/disk/by-path';
const BY_ID = '/dev/disk/by-id';
const SCSI_HOSTS = '/sys/class/scsi_host';
/** udev creates the links of a new disk meanwhile. */
const DEVICE_MS = 10_000;

/** A Fibre Channel disk: a LUN of targets, or the identifiers of the disk itself. */
export type FcDisk =
  | { readonly kind: 'lun'; readonly targets: readonly string[]; readonly lun: string }
  | { readonly kind: 'wwids'; readonly wwids: readonly string[] };

export interface FcDeps {
  readonly fs: FileSystem;
  readonly clock: Clock;
  readonly processes: Processes;
}

interface FcSource {
  readonly targetWWNs?: readonly string[] | undefined;
  readonly lun?: number | undefined;
  readonly wwids?: readonly string[] | undefined;
}

export function fcDisk({ targetWWNs = [], lun, wwids = [] }: FcSource): FcDisk {
  if (targetWWNs.length > 0 && lun !== undefined) return { kind: 'lun', targets: targetWWNs, lun: String(lun) };
  // udev writes underscores for spaces.
  if (wwids.length > 0) return { kind: 'wwids', wwids: wwids.map((wwid) => wwid.replaceAll(' ', '_')) };
  throw new Error('fc: no fc disk information found. failed to make a new mounter');
}

/** The directory of the disk: `50060e801049cfd1-lun-0`. */
export function fcFolder(disk: FcDisk): string {
  return disk.kind === 'lun' ? `${disk.targets.join('-')}-lun-${disk.lun}` : disk.wwids.join('-');
}

/** kubelet's name of the volume, in Go's spelling of a list. */
export function fcName({ targetWWNs = [], lun, wwids = [] }: FcSource): string {
  return targetWWNs.length > 0 && lun !== undefined ? `[${targetWWNs.join(' ')}]:${lun}` : `[${wwids.join(' ')}]`;
}

export function diskOfFcFolder(name: string): FcDisk {
  const [, targets, lun] = /^(.+)-lun-(\d+)$/.exec(name) ?? [];
  if (targets === undefined || lun === undefined) return { kind: 'wwids', wwids: name.split('-') };
  return { kind: 'lun', targets: targets.split('-'), lun };
}

/** Returns the path of the disk's device, that of its multipath map if it has one. Looks for new disks if none is known. */
export async function attachFcDisk(disk: FcDisk, deps: FcDeps, signal: AbortSignal): Promise<string> {
  const known = await findFcDisk(disk, deps.fs);
  if (known?.startsWith('/dev/dm-')) return known;
  const hosts = (await deps.fs.lstat(SCSI_HOSTS)) ? await deps.fs.readDirectory(SCSI_HOSTS) : [];
  for (const { name } of hosts) {
    await deps.fs.writeFile(`${SCSI_HOSTS}/${name}/scan`, '- - -').catch(() => undefined); // hosts of other kinds refuse
  }
  const folder = disk.kind === 'lun' ? BY_PATH : BY_ID;
  const find = () => findFcDisk(disk, deps.fs);
  const found = known ?? (await untilFound(find, { folder, withinMs: DEVICE_MS }, deps, signal));
  if (found === undefined) throw new Error('no fc disk found');
  return found;
}

/** Removes the devices of a disk from the kernel, after all data is written. */
export async function detachFcDisk(disk: FcDisk, { fs, processes }: FcDeps, signal: AbortSignal): Promise<void> {
  const device = await findFcDisk(disk, fs);
  if (device === undefined) return;
  const isMap = device.startsWith('/dev/dm-');
  const disks = isMap ? await disksOfMultipath(device, fs) : [device];
  if (isMap) {
    const result = await runProgram(processes, 'multipath', ['-f', device], signal);
    if (result.exitCode !== 0) {
      throw new Error(`failed to flush multipath device ${device}: ${exitText(result)}\n${result.output}`);
    }
  }
  for (const path of disks) {
    await runProgram(processes, 'blockdev', ['--flushbufs', path], signal).catch(() => signal.throwIfAborted());
    await deleteDisk(path.slice('/dev/'.length), fs);
  }
}

async function findFcDisk(disk: FcDisk, fs: FileSystem): Promise<string | undefined> {
  const folder = disk.kind === 'lun' ? BY_PATH : BY_ID;
  const names = (await fs.lstat(folder)) ? (await fs.readDirectory(folder)).map(({ name }) => name) : [];
  const links = names.filter((name) => isLinkOf(disk, name)).map((name) => `${folder}/${name}`);
  let single: string | undefined;
  for (const link of links) {
    const path = await fs.realPath(link).catch(() => undefined); // the link was removed
    if (path === undefined) continue;
    const map = await multipathDevice(path, fs);
    if (map !== undefined) return map;
    single ??= path;
  }
  return single;
}

function isLinkOf(disk: FcDisk, name: string): boolean {
  if (disk.kind === 'wwids') return disk.wwids.some((wwid) => name === `scsi-${wwid}`);
  return disk.targets.some((target) => {
    const ending = `fc-0x${target}-lun-${disk.lun}`;
    return name === ending || (name.startsWith('pci-') && name.endsWith(`-${ending}`));
  });
}
