import { aborted } from '../../base/aborted.ts';
import { errorText } from '../../base/error-text.ts';
import { goErrorList } from '../../base/go/go-error-list.ts';
import { goQuote } from '../../base/go/go-quote.ts';
import type { Log } from '../../base/log.ts';
import type { Cgroups } from '../../host/cgroups.ts';
import type { Clock } from '../../host/clock.ts';
import { type FileSystem, FileSystemError } from '../../host/file-system.ts';
import { cgroupOfProcess } from './own-cgroup.ts';

const PERIOD_MS = 60_000;
/** New processes appear while others are moved. */
const ROUNDS = 11;

/** kubelet's `systemCgroups` and `kubeletCgroups`; an absent one is not used. Paths in the cgroup file system. */
export interface SystemCgroupSettings {
  /** All processes of the root cgroup are moved here. */
  readonly system?: string | undefined;
  /** The agent's own process is moved here. */
  readonly kubelet?: string | undefined;
}

export interface SystemCgroupsDeps {
  /** Of the cgroupfs driver: the paths are used as they are. */
  readonly cgroups: Pick<Cgroups, 'version' | 'create' | 'ownProcesses' | 'addProcess'>;
  readonly fs: Pick<FileSystem, 'readText' | 'readLink'>;
  readonly clock: Pick<Clock, 'sleep'>;
  readonly log: Pick<Log, 'info'>;
  /** The agent's process. */
  readonly pid: number;
}

/** Throws with kubelet's message for a system cgroup that would contain every process already. */
export function checkSystemCgroups({ system }: SystemCgroupSettings): void {
  if (system === '/') throw new Error('system container cannot be root ("/")');
}

/** Keeps processes in their cgroups until the signal aborts: at once and each minute. Does nothing without settings. */
export async function keepSystemCgroups(
  { system, kubelet }: SystemCgroupSettings,
  deps: SystemCgroupsDeps,
  signal: AbortSignal,
): Promise<void> {
  if (!system && !kubelet) return;
  const attempt = async (containerName: string, work: () => Promise<void>): Promise<void> => {
    try {
      await work();
    } catch (error) {
      deps.log.info('Failed to ensure state', { containerName, err: errorText(error) });
    }
  };
  while (!signal.aborted) {
    if (system) await attempt(system, () => moveRootProcesses(system, deps));
    if (kubelet) await attempt(kubelet, () => moveOwnProcess(kubelet, deps));
    await Promise.race([deps.clock.sleep(PERIOD_MS, signal).catch(() => undefined), aborted(signal)]);
  }
}

/** Process 1 and kernel threads stay: limits of the system's cgroup must not stall the kernel. */
async function moveRootProcesses(path: string, deps: SystemCgroupsDeps): Promise<void> {
  const { cgroups } = deps;
  let failure: Error | undefined;
  for (let round = 0; round < ROUNDS; round++) {
    const pids = await usersProcesses(await cgroups.ownProcesses('/'), deps);
    if (pids.length === 0) return;
    await cgroups.create(path);
    for (const pid of pids) {
      await cgroups.addProcess(path, pid).catch((cause: unknown) => {
        const text = `failed to move PID ${pid} into the system container ${goQuote(path)}: ${errorText(cause)}`;
        failure = new Error(text, { cause });
      });
    }
  }
  if (failure) throw failure;
}

async function usersProcesses(pids: readonly number[], { fs }: SystemCgroupsDeps): Promise<readonly number[]> {
  const isKernels = await Promise.all(pids.map((pid) => isKernelThread(pid, fs)));
  return pids.filter((pid, index) => pid !== 1 && !isKernels[index]);
}

/** Kernel threads have no executable; a process that has ended has none either. */
async function isKernelThread(pid: number, fs: SystemCgroupsDeps['fs']): Promise<boolean> {
  try {
    await fs.readLink(`/proc/${pid}/exe`);
    return false;
  } catch (error) {
    return error instanceof FileSystemError && error.code === 'ENOENT';
  }
}

/** An agent in a container keeps the cgroup that the container's runtime gave it. */
async function moveOwnProcess(path: string, { cgroups, fs, log, pid }: SystemCgroupsDeps): Promise<void> {
  if (!(await isInHostNamespace(pid, fs))) {
    log.info('PID is not running in the host namespace', { pid });
    return;
  }
  const errors: string[] = [];
  let current = '';
  try {
    current = cgroupOfProcess(await fs.readText(`/proc/${pid}/cgroup`), cgroups.version);
  } catch (error) {
    errors.push(`failed to find container of PID ${pid}: ${errorText(error)}`);
  }
  // A process in different cgroups is moved too.
  if (current !== path) {
    try {
      await cgroups.create(path);
      await cgroups.addProcess(path, pid);
    } catch (error) {
      errors.push(`failed to move PID ${pid} (in ${goQuote(current)}) to ${goQuote(path)}: ${errorText(error)}`);
    }
  }
  if (errors.length > 0) throw new Error(goErrorList(errors));
}

async function isInHostNamespace(pid: number, fs: SystemCgroupsDeps['fs']): Promise<boolean> {
  const namespaceOf = (of: number, what: string): Promise<string> =>
    fs.readLink(`/proc/${of}/ns/pid`).catch((cause: unknown) => {
      throw new Error(`failed to find pid namespace of ${what}`, { cause });
    });
  return (await namespaceOf(1, 'init process')) === (await namespaceOf(pid, `process ${pid}`));
}
