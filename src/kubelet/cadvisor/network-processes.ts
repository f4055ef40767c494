import type { CgroupDetails } from '../../host/cgroup-stats.ts';
import type { CgroupOwner } from './cgroup-owners.ts';

export const FIRST_PROCESS = 1;

type Figures = ReadonlyMap<string, Pick<CgroupDetails, 'processes'>>;

/**
 * By the path of a cgroup, the process whose network it shows: the root shows that of the machine, and a pod shows its own once,
 * at the sandbox. Where the sandbox has no process, the pod's cgroup shows it, by a process of a container.
 */
export function networkProcesses(
  owners: ReadonlyMap<string, CgroupOwner>,
  figures: Figures,
): ReadonlyMap<string, number> {
  const paths = [...owners.keys()].filter((path) => figures.has(path));
  const ofKind = (kind: CgroupOwner['kind']): readonly (readonly [uid: string, path: string, pid: number])[] =>
    paths.flatMap((path) => {
      const owner = owners.get(path);
      const pid = firstProcess(figures.get(path));
      return owner?.kind === kind && pid !== undefined ? [[owner.pod.uid, path, pid] as const] : [];
    });
  const sandboxes = new Map(ofKind('sandbox').map(([uid, path, pid]) => [uid, { path, pid }]));
  const containers = new Map(ofKind('container').map(([uid, , pid]) => [uid, pid]));
  const shown = new Map<string, number>([['/', FIRST_PROCESS]]);
  for (const path of paths) {
    const owner = owners.get(path);
    if (owner?.kind !== 'pod') continue;
    const sandbox = sandboxes.get(owner.pod.uid);
    const pid = sandbox?.pid ?? containers.get(owner.pod.uid);
    if (pid !== undefined) shown.set(sandbox?.path ?? path, pid);
  }
  return shown;
}

/** The first process of a container has the lowest number, unless numbers have wrapped around. */
export function firstProcess(figures: Pick<CgroupDetails, 'processes'> | undefined): number | undefined {
  if (!figures || figures.processes.length === 0) return undefined;
  return figures.processes.reduce((lowest, pid) => Math.min(lowest, pid));
}
