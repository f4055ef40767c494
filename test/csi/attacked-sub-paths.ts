/**
 * Binds subPaths of a volume while `swap-with-link.ts` attacks them, and writes what became of the attempts as JSON. It needs
 * a mount namespace of its own.
 *
 *   unshare --mount node attacked-sub-paths.ts FOLDER PATH TRIES [--follow-links]
 */
import { existsSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { linuxFileSystem as fs } from '../../src/host/linux/fs/linux-file-system.ts';
import { linuxMounts as mounts } from '../../src/host/linux/mount/linux-mounts.ts';
import { PodError } from '../../src/kubelet/pod/pod-error.ts';
import { exampleContainer, examplePod } from '../../src/kubelet/sync/config/pod.fixture.ts';
import { bindSubPaths } from '../../src/kubelet/volumes/sub-paths.ts';
import { HOST_FILE, type SubPathAttempts } from './sub-path-attack.ts';

const [folder = '', path = '', tries = '0', followLinks] = process.argv.slice(2);
const volume = join(folder, 'volume');
const deps = { fs, mounts, settings: { rootDir: join(folder, 'root') } };
const volumes = new Map([['data', { path: volume, readOnly: false }]]);
const hostFiles = new Set(['', ...readdirSync(join(folder, 'host'), { recursive: true, encoding: 'utf8' })].map(inode));

/** Binds a subPath as for the start of a container. `%` in the path is the number of the attempt. */
async function bind(count: number): Promise<string | undefined> {
  const subPath = path.replace('%', `${count}`);
  if (followLinks) return bindFollowingLinks(subPath);
  const container = { ...exampleContainer, volumeMounts: [{ name: 'data', mountPath: '/data', subPath }] };
  try {
    const bound = await bindSubPaths(examplePod(), container, volumes, () => undefined, deps);
    return bound.get(0);
  } catch (error) {
    if (error instanceof PodError) return undefined;
    throw error;
  }
}

/** What a kubelet did before CVE-2017-1002101: shows that the attack is one. */
async function bindFollowingLinks(subPath: string): Promise<string | undefined> {
  const target = join(folder, 'root/bound');
  await fs.makeDirectory(target);
  try {
    await mounts.mount({ source: join(volume, subPath), target, flags: ['bind'] });
    return target;
  } catch {
    return undefined;
  }
}

function inode(name: string): string {
  const { dev, ino } = statSync(join(folder, 'host', name));
  return `${dev}:${ino}`;
}

function showsHost(target: string): boolean {
  const { dev, ino } = statSync(target);
  return hostFiles.has(`${dev}:${ino}`) || existsSync(join(target, HOST_FILE));
}

const attempts: SubPathAttempts = { bound: 0, rejected: 0, escaped: 0 };
for (let count = 0; count < Number(tries); count++) {
  const target = await bind(count);
  attempts[target === undefined ? 'rejected' : showsHost(target) ? 'escaped' : 'bound']++;
  if (target !== undefined) await mounts.unmount(target);
}
process.stdout.write(JSON.stringify(attempts));
