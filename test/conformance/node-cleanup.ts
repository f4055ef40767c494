import { existsSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { mountedCgroups, removeCgroups } from '../integration/runtime-cleanup.ts';

/** What a node of this process has on the machine outside its namespaces. */
export interface NodeFootprint {
  /** Scratch directory; its name is short, because sockets are in it. */
  readonly folder: string;
  /** The name of its cgroup in every hierarchy. */
  readonly cgroup: string;
}

const FOLDER = /^nlc-(\d+)$/;
const CGROUP = /^nodelet-conformance-(\d+)$/;

/** Also removes what killed runs left behind. */
export function newNodeFootprint(): NodeFootprint {
  for (const name of readdirSync(tmpdir())) if (isDead(FOLDER.exec(name)?.[1])) removeFolder(join(tmpdir(), name));
  const cgroups = new Set(mountedCgroups().flatMap((hierarchy) => readdirSync(hierarchy)));
  for (const name of cgroups) if (isDead(CGROUP.exec(name)?.[1])) removeCgroups(`/${name}`);
  return { folder: join(tmpdir(), `nlc-${process.pid}`), cgroup: `nodelet-conformance-${process.pid}` };
}

/** The node must have ended: its mounts and processes end with it. */
export function removeNode({ folder, cgroup }: NodeFootprint): void {
  removeCgroups(`/${cgroup}`);
  removeFolder(folder);
}

function isDead(pid: string | undefined): boolean {
  return pid !== undefined && !existsSync(`/proc/${pid}`);
}

function removeFolder(folder: string): void {
  rmSync(folder, { recursive: true, force: true });
}
