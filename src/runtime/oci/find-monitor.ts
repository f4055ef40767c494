import { FileSystemError } from '../../host/file-system.ts';
import type { ProcessIdentity } from '../../host/processes.ts';
import { bundleFiles } from './bundle-files.ts';
import type { OciDeps } from './oci-deps.ts';
import type { ContainerRef } from './oci-runtime.ts';

/** The process that holds a container's output and exit code. */
export interface Monitor extends ProcessIdentity {
  readonly args: readonly string[];
}

type FindDeps = Pick<OciDeps, 'fs' | 'processes'>;

/**
 * Returns `undefined` if the monitor exited or never existed. The PID alone is not trusted: it may have been reused.
 */
export async function findMonitor(container: ContainerRef, deps: FindDeps): Promise<Monitor | undefined> {
  const pid = await readPid(bundleFiles(container).monitorPid, deps);
  if (pid === undefined) return undefined;
  const identity = await deps.processes.identify(pid);
  if (identity === undefined) return undefined;
  const args = (await readIfExists(`/proc/${pid}/cmdline`, deps)).split('\0');
  return args.includes(container.bundle) && args.includes(container.id) ? { ...identity, args } : undefined;
}

/** Returns the container's first process if it is a child of its monitor, so that its PID cannot have been reused. */
export async function findFirstProcess(
  container: ContainerRef,
  monitor: Monitor,
  deps: FindDeps,
): Promise<ProcessIdentity | undefined> {
  const pid = await readPid(bundleFiles(container).pid, deps);
  if (pid === undefined) return undefined;
  const identity = await deps.processes.identify(pid);
  return (await parentPid(pid, deps)) === monitor.pid ? identity : undefined;
}

/** Returns `undefined` if the process has exited. */
export async function identifyParent(pid: number, deps: FindDeps): Promise<ProcessIdentity | undefined> {
  const parent = await parentPid(pid, deps);
  return parent === undefined ? undefined : deps.processes.identify(parent);
}

async function parentPid(pid: number, deps: FindDeps): Promise<number | undefined> {
  const parent = /^PPid:\s*(\d+)$/m.exec(await readIfExists(`/proc/${pid}/status`, deps))?.[1];
  return parent === undefined ? undefined : Number(parent);
}

export async function readPid(path: string, deps: FindDeps): Promise<number | undefined> {
  const pid = Number.parseInt(await readIfExists(path, deps), 10);
  return pid > 0 ? pid : undefined;
}

/** Returns an empty string if the file is missing. */
export async function readIfExists(path: string, { fs }: Pick<OciDeps, 'fs'>): Promise<string> {
  try {
    return await fs.readText(path);
  } catch (error) {
    // ESRCH: the process exited between open(2) and read(2).
    if (error instanceof FileSystemError && ['ENOENT', 'ENOTDIR', 'ESRCH'].includes(error.code)) return '';
    throw error;
  }
}
