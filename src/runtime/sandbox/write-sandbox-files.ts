import { runAllOrAbort } from '../../base/run-all-or-abort.ts';
import type { DNSConfig, PodSandboxConfig } from '../../cri/generated/runtime-v1.ts';
import { type FileSystem, FileSystemError } from '../../host/file-system.ts';
import type { Mounts } from '../../host/mounts.ts';
import { mapOwner } from '../storage/map-owner.ts';
import type { SandboxFiles, SandboxNamespaces } from '../store/sandbox-record.ts';

const SHM_BYTES = 64 * 1024 * 1024;

interface FileDeps {
  readonly fs: Pick<FileSystem, 'readText' | 'writeFile' | 'makeDirectory' | 'changeOwner' | 'stat'>;
  readonly mounts: Pick<Mounts, 'mount'>;
}

/**
 * Writes the sources of /etc/hosts, /etc/hostname and /etc/resolv.conf and mounts the one of /dev/shm, owned by the
 * containers' root. The directory exists.
 */
export async function writeSandboxFiles(
  files: SandboxFiles,
  { hostname, dnsConfig }: PodSandboxConfig,
  { ipc, user }: SandboxNamespaces,
  deps: FileDeps,
  signal: AbortSignal,
): Promise<void> {
  const { fs } = deps;
  const owner = mapOwner({ uid: 0, gid: 0 }, user?.idMap);
  const write = async (path: string, text: Promise<string> | string): Promise<void> => {
    await fs.writeFile(path, await text, { mode: 0o644 });
    if (user !== undefined) await fs.changeOwner(path, owner.uid, owner.gid);
  };
  await runAllOrAbort(
    [
      () => write(files.hosts, readTextIfPresent(fs, '/etc/hosts')),
      () => write(files.hostname, hostname === '' ? fs.readText('/proc/sys/kernel/hostname') : `${hostname}\n`),
      () => write(files.resolvConf, dnsConfig ? resolvConf(dnsConfig) : readTextIfPresent(fs, '/etc/resolv.conf')),
      async () => (ipc === undefined ? undefined : mountShm(files.shm, owner, deps)),
    ],
    signal,
  );
}

export function resolvConf({ servers, searches, options }: DNSConfig): string {
  const lines = [
    ...(searches.length === 0 ? [] : [`search ${searches.join(' ')}`]),
    ...servers.map((server) => `nameserver ${server}`),
    ...(options.length === 0 ? [] : [`options ${options.join(' ')}`]),
  ];
  return lines.map((line) => `${line}\n`).join('');
}

async function mountShm(
  target: string,
  { uid, gid }: { readonly uid: number; readonly gid: number },
  { fs, mounts }: FileDeps,
): Promise<void> {
  await fs.makeDirectory(target);
  await mounts.mount({
    source: 'shm',
    target,
    type: 'tmpfs',
    flags: ['noExec', 'noSuid', 'noDev'],
    data: `mode=1777,size=${SHM_BYTES},uid=${uid},gid=${gid}`,
  });
}

/** The file may be missing on the host. */
async function readTextIfPresent(fs: Pick<FileSystem, 'readText'>, path: string): Promise<string> {
  try {
    return await fs.readText(path);
  } catch (error) {
    if (error instanceof FileSystemError && error.code === 'ENOENT') return '';
    throw error;
  }
}
