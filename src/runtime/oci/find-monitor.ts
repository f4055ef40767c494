import { FileSystemError } from '../../host/file-system.ts';
import type { ProcessIdentity } from '../../host/processes.ts';
import { bundleFiles } from './bundle-files.ts';
import type { OciDeps } from './oci-deps.ts';
import type { MonitoredName } from './oci-runtime.ts';

/** The process that keeps a container's output and exit code. */
export interface Monitor extends ProcessIdentity {
  readonly args: readonly string[];
}

type FindDeps = Pick<OciDeps, 'fs' | 'processes'>;

/** `undefined`: it has ended, or there never was one. Its number alone is not believed: another may have it by now. */
export async function findMonitor(container: MonitoredName, deps: FindDeps): Promise<Monitor | undefined> {
  const pid = await pidIn(bundleFiles(container).monitorPid, deps);
  if (pid === undefined) return undefined;
  const identity = await deps.processes.identify(pid);
  if (identity === undefined) return undefined;
  const args = (await textUnlessGone(`/proc/${pid}/cmdline`, deps)).split('\0');
  return args.includes(container.bundle) && args.includes(container.id) ? { ...identity, args } : undefined;
}

/** The container's first process, while it is surely that: a child of its monitor, whose number nobody else can have. */
export async function findFirstProcess(
  container: MonitoredName,
  monitor: Monitor,
  deps: FindDeps,
): Promise<ProcessIdentity | undefined> {
  const pid = await pidIn(bundleFiles(container).pid, deps);
  if (pid === undefined) return undefined;
  const identity = await deps.processes.identify(pid);
  return (await parentOf(pid, deps)) === monitor.pid ? identity : undefined;
}

/** `undefined`: the process has ended. */
export async function identifyParent(pid: number, deps: FindDeps): Promise<ProcessIdentity | undefined> {
  const parent = await parentOf(pid, deps);
  return parent === undefined ? undefined : deps.processes.identify(parent);
}

async function parentOf(pid: number, deps: FindDeps): Promise<number | undefined> {
  const parent = /^PPid:\s*(\d+)$/m.exec(await textUnlessGone(`/proc/${pid}/status`, deps))?.[1];
  return parent === undefined ? undefined : Number(parent);
}

export async function pidIn(path: string, deps: FindDeps): Promise<number | undefined> {
  const pid = Number.parseInt(await textUnlessGone(path, deps), 10);
  return pid > 0 ? pid : undefined;
}

/** Empty when there is none. */
export async function textUnlessGone(path: string, { fs }: Pick<OciDeps, 'fs'>): Promise<string> {
  try {
    return await fs.readText(path);
  } catch (error) {
    // ESRCH: a process ended between open(2) and read(2).
    if (error instanceof FileSystemError && ['ENOENT', 'ENOTDIR', 'ESRCH'].includes(error.code)) return '';
    throw error;
  }
}
