import { posix } from 'node:path';
import { invalidField } from '../../cri/field-error.ts';
import { type FileStat, type FileSystem, FileSystemError } from '../../host/file-system.ts';
import { checkDevice, type HostDevice } from './devices.ts';
import type { SpecRequest } from './spec-request.ts';

/** Entries of /dev that belong to other programs. */
const SKIPPED: ReadonlySet<string> = new Set(['pts', 'shm', 'fd', 'mqueue', '.lxc', '.lxd-mounts', '.udev', 'console']);

export async function gatherDevices(
  { container }: SpecRequest,
  fs: FileSystem,
): Promise<ReadonlyMap<number, readonly HostDevice[]>> {
  const found = container.devices.map(async (device, index): Promise<[number, readonly HostDevice[]]> => {
    checkDevice(`devices[${index}]`, device);
    const devices = await devicesAt(device.hostPath, device.containerPath || device.hostPath, fs);
    if (devices === undefined) throw invalidField(`devices[${index}].host_path`, `no device at ${device.hostPath}`);
    return [index, devices];
  });
  return new Map(await Promise.all(found));
}

/** Returns every device of the host, under the same path. */
export function allHostDevices(fs: FileSystem): Promise<readonly HostDevice[]> {
  return devicesBelow('/dev', '/dev', fs);
}

/** Returns one device, with links followed; all devices below a directory; `undefined` for anything else. */
async function devicesAt(
  path: string,
  containerPath: string,
  fs: FileSystem,
): Promise<readonly HostDevice[] | undefined> {
  const stat = await fs.stat(path);
  if (stat?.kind === 'directory') return devicesBelow(path, containerPath, fs);
  const device = stat && hostDevice(containerPath, stat);
  return device && [device];
}

async function devicesBelow(folder: string, containerFolder: string, fs: FileSystem): Promise<HostDevice[]> {
  const entries = await fs.readDirectory(folder);
  const found = entries.map(async ({ name, kind }): Promise<HostDevice[]> => {
    if (SKIPPED.has(name)) return [];
    const [path, containerPath] = [posix.join(folder, name), posix.join(containerFolder, name)];
    if (kind === 'directory') return devicesBelow(path, containerPath, fs).catch(ignoreMissing);
    if (kind !== 'characterDevice' && kind !== 'blockDevice') return [];
    const stat = await fs.lstat(path);
    const device = stat && hostDevice(containerPath, stat);
    return device === undefined ? [] : [device];
  });
  return (await Promise.all(found)).flat();
}

/** Devices may disappear during the scan. */
function ignoreMissing(error: unknown): HostDevice[] {
  if (error instanceof FileSystemError && error.code === 'ENOENT') return [];
  throw error;
}

export function hostDevice(path: string, { kind, special, mode, uid, gid }: FileStat): HostDevice | undefined {
  if (special === undefined) return undefined;
  return { path, type: kind === 'blockDevice' ? 'b' : 'c', ...special, fileMode: mode, uid, gid };
}
