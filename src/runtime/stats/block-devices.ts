import { posix } from 'node:path';
import type { DeviceTraffic } from '../../host/cgroup-stats.ts';
import type { FileSystem } from '../../host/file-system.ts';

type Device = Pick<DeviceTraffic, 'major' | 'minor'>;

/** Names of block devices; each is looked up once. */
export class BlockDevices {
  readonly #fs: Pick<FileSystem, 'readLink'>;
  readonly #names = new Map<string, string>();

  constructor(fs: Pick<FileSystem, 'readLink'>) {
    this.#fs = fs;
  }

  /** Looks up the unknown devices. */
  async learn(devices: readonly Device[]): Promise<void> {
    const numbers = new Set(devices.map(deviceNumber));
    await Promise.all([...numbers].filter((number) => !this.#names.has(number)).map((number) => this.#lookUp(number)));
  }

  /** `/dev/sda`, or `0:52` for a device without a name: a filesystem without a disk. */
  readonly name = (device: Device): string => this.#names.get(deviceNumber(device)) ?? deviceNumber(device);

  async #lookUp(number: string): Promise<void> {
    const target = await this.#fs.readLink(`/sys/dev/block/${number}`).catch(() => undefined);
    this.#names.set(number, target === undefined ? number : `/dev/${posix.basename(target)}`);
  }
}

function deviceNumber({ major, minor }: Device): string {
  return `${major}:${minor}`;
}

/** Splits a device number of stat(2). */
export function splitDevice(device: number): Device {
  const low = device % 2 ** 32;
  return { major: (low >> 8) & 0xfff, minor: (low & 0xff) | ((low >> 12) & 0xfff00) };
}
