import type { FileSystem } from '../../../host/file-system.ts';

const BLOCK = '/sys/block';
const ISCSI_HOSTS = '/sys/class/iscsi_host';

/** The device of the multipath map that a disk belongs to: `/dev/dm-0`. */
export async function multipathDevice(path: string, fs: FileSystem): Promise<string | undefined> {
  if (path.startsWith('/dev/dm-')) return path;
  const [, dev, disk, ...more] = (await fs.realPath(path)).split('/');
  if (dev !== 'dev' || disk === undefined || more.length > 0) return undefined;
  for (const name of await namesIn(BLOCK, 'dm-', fs)) {
    if (await fs.lstat(`${BLOCK}/${name}/slaves/${disk}`)) return `/dev/${name}`;
  }
  return undefined;
}

/** The disks of a multipath map. */
export async function disksOfMultipath(device: string, fs: FileSystem): Promise<readonly string[]> {
  const names = await namesIn(`${BLOCK}/${device.slice('/dev/'.length)}/slaves`, '', fs);
  return names.map((name) => `/dev/${name}`);
}

/** Removes a disk from the kernel, as far as it is there. */
export async function deleteDisk(name: string, fs: FileSystem): Promise<void> {
  await fs.writeFile(`${BLOCK}/${name}/device/delete`, '1').catch(() => undefined); // it may be gone already
}

/** The numbers of the SCSI hosts that are logged in to a target, by portal (`10.0.0.1:3260`, `[fd00::1]:3260`). */
export async function hostsOfTarget(iqn: string, fs: FileSystem): Promise<ReadonlyMap<string, number>> {
  const hosts = new Map<string, number>();
  for (const { host, path } of await sessionsOfTarget(iqn, fs)) {
    for (const connection of await namesIn(path, 'connection', fs)) {
      const at = `${path}/${connection}/iscsi_connection/${connection}`;
      for (const prefix of ['', 'persistent_']) {
        const address = await readLine(`${at}/${prefix}address`, fs);
        const port = await readLine(`${at}/${prefix}port`, fs);
        if (address === undefined || port === undefined) continue;
        hosts.set(`${address.includes(':') ? `[${address}]` : address}:${port}`, host);
      }
    }
  }
  return hosts;
}

/** The names of the disks of a LUN: `sdb`. */
export async function disksOfLun(iqn: string, lun: string, fs: FileSystem): Promise<readonly string[]> {
  const disks: string[] = [];
  for (const { host, path } of await sessionsOfTarget(iqn, fs)) {
    const [disk] = await namesIn(`${path}/target${host}:0:0/${host}:0:0:${lun}/block`, '', fs);
    if (disk !== undefined) disks.push(disk);
  }
  return disks;
}

async function sessionsOfTarget(
  iqn: string,
  fs: FileSystem,
): Promise<readonly { readonly host: number; readonly path: string }[]> {
  const sessions: { host: number; path: string }[] = [];
  for (const hostName of await namesIn(ISCSI_HOSTS, 'host', fs)) {
    const folder = `${ISCSI_HOSTS}/${hostName}/device`;
    for (const session of await namesIn(folder, 'session', fs)) {
      const path = `${folder}/${session}`;
      if ((await readLine(`${path}/iscsi_session/${session}/targetname`, fs)) !== iqn) continue;
      sessions.push({ host: Number(hostName.slice('host'.length)), path });
    }
  }
  return sessions;
}

async function namesIn(folder: string, prefix: string, fs: FileSystem): Promise<readonly string[]> {
  if (!(await fs.stat(folder))) return [];
  const entries = await fs.readDirectory(folder);
  return entries.map(({ name }) => name).filter((name) => name.startsWith(prefix));
}

/** `undefined`: the session ended meanwhile. */
async function readLine(path: string, fs: FileSystem): Promise<string | undefined> {
  const text = await fs.readText(path).catch(() => undefined);
  return text?.trim();
}
