import type { FileSystem } from '../../../host/file-system.ts';

/** Identifies the machine. It does not change while the machine runs. */
export interface MachineIdentity {
  readonly machineId: string;
  readonly systemUuid: string;
  /** Changes with each boot. */
  readonly bootId: string;
  readonly kernelVersion: string;
  readonly osImage: string;
  readonly swapBytes: number;
}

const MACHINE_ID = ['/etc/machine-id', '/var/lib/dbus/machine-id'];
/** Firmware of PCs and servers, firmware of POWER, and the machine id for machines without either. */
const SYSTEM_UUID = [
  '/sys/class/dmi/id/product_uuid',
  '/proc/device-tree/system-id',
  '/proc/device-tree/vm,uuid',
  '/etc/machine-id',
];
const OS_RELEASE = ['/etc/os-release', '/usr/lib/os-release'];

/** Missing values are empty. */
export async function readMachineIdentity(fs: Pick<FileSystem, 'readText'>): Promise<MachineIdentity> {
  const text = async (path: string): Promise<string> => (await readFirst(fs, [path])) ?? '';
  const release = await readFirst(fs, OS_RELEASE);
  return {
    machineId: (await readFirst(fs, MACHINE_ID)) ?? '',
    systemUuid: (await readFirst(fs, SYSTEM_UUID)) ?? '',
    bootId: await text('/proc/sys/kernel/random/boot_id'),
    kernelVersion: await text('/proc/sys/kernel/osrelease'),
    osImage: release === undefined ? 'Unknown' : prettyName(release),
    swapBytes: Number(/^SwapTotal:\s*(\d+) kB$/m.exec(await text('/proc/meminfo'))?.[1] ?? 0) * 1024,
  };
}

function prettyName(release: string): string {
  return /PRETTY_NAME=(.*)/.exec(release)?.[1]?.replace(/^"+|"+$/g, '') ?? 'Linux';
}

/** The trimmed text of the first readable file. */
async function readFirst(fs: Pick<FileSystem, 'readText'>, paths: readonly string[]): Promise<string | undefined> {
  for (const path of paths) {
    try {
      return (await fs.readText(path)).replaceAll('\0', '').trim();
    } catch {
      // Try the next file.
    }
  }
  return undefined;
}
