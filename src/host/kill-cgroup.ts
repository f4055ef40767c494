import { CgroupBusyError, type Cgroups } from './cgroups.ts';
import type { Processes } from './processes.ts';

export interface KillCgroupDeps {
  readonly cgroups: Cgroups;
  readonly processes: Processes;
}

/**
 * Kills what runs in a cgroup and below it, and removes it; a missing one is not an error. Rejects with the last
 * `CgroupBusyError` if processes are left after this many rounds.
 */
export async function killAndRemoveCgroup(
  path: string,
  deps: KillCgroupDeps,
  rounds: number,
  signal: AbortSignal,
): Promise<void> {
  for (let round = 1; ; round++) {
    signal.throwIfAborted();
    try {
      return await deps.cgroups.remove(path);
    } catch (error) {
      if (!(error instanceof CgroupBusyError) || round === rounds) throw error;
      await killAll(path, error.pids, deps, signal);
    }
  }
}

async function killAll(
  path: string,
  pids: readonly number[],
  { cgroups, processes }: KillCgroupDeps,
  signal: AbortSignal,
): Promise<void> {
  const identified = await Promise.all(pids.map((pid) => processes.identify(pid)));
  // A pid of a process that ended meanwhile may belong to a process of another cgroup now.
  const inside = new Set(await cgroups.processes(path));
  const found = identified.flatMap((each) => (each !== undefined && inside.has(each.pid) ? [each] : []));
  if (!(await cgroups.kill(path))) await Promise.all(found.map((each) => processes.kill(each, 'SIGKILL')));
  await Promise.all(found.map((each) => processes.waitForExit(each, signal)));
}
