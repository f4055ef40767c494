import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, rmdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { cgroupHierarchies } from '../../src/host/linux/cgroup/cgroup-hierarchies.ts';
import { parseMountinfo } from '../../src/host/linux/proc/mountinfo.ts';

/** Everything that a runtime of a test makes on the machine follows from its folder's name. */
export interface Footprint {
  readonly folder: string;
  readonly socketPath: string;
  readonly bridge: string;
  /** Below which tests put the cgroups of their pods. */
  readonly cgroupParent: string;
}

/** What is killed is gone by then on the busiest machine. */
const PATIENCE_MS = 20_000;
const LOOK_AGAIN_MS = 5;

/**
 * Takes away what a runtime left that is gone or about to go: it, monitors and their containers, network namespaces, mounts, the bridge,
 * cgroups and files. Nothing to do is fine.
 */
export function removeLeftovers(footprint: Footprint): void {
  const namespaces = networkNamespaces(footprint.folder);
  killProcesses(footprint);
  for (const path of namespaces) quietly('ip', 'netns', 'delete', path.slice(path.lastIndexOf('/') + 1));
  unmountBelow(footprint.folder);
  quietly('ip', 'link', 'delete', footprint.bridge);
  removeCgroups(footprint.cgroupParent);
  removeFolder(footprint.folder);
}

/** Of the sandboxes whose bundles are still there: paths such as `/var/run/netns/cni-…`. */
export function networkNamespaces(folder: string): readonly string[] {
  const bundles = join(folder, 'state/io.containerd.runtime.v2.task/k8s.io');
  const paths = entries(bundles).flatMap((id): string[] => {
    try {
      const spec = JSON.parse(readFileSync(join(bundles, id, 'config.json'), 'utf8'));
      return spec.linux.namespaces.flatMap((namespace: { type: string; path?: string }) =>
        namespace.type === 'network' && namespace.path?.includes('/netns/') ? [namespace.path] : [],
      );
    } catch {
      return []; // half made, or already half removed
    }
  });
  return [...new Set(paths)];
}

/**
 * The runtime itself, which may be on its way out, and its monitors, which are daemons of their own: a shim is told by
 * the socket that it reports to, conmon by the files it writes. Returns when they are gone, and what they had begun: a
 * cgroup goes no sooner, and nobody writes into the folder any more.
 */
function killProcesses({ socketPath, folder }: Footprint): void {
  const processes = runningProcesses();
  const ours = processes.filter(({ args }) => {
    if (args[0]?.includes('containerd-shim')) return args.includes(socketPath);
    if (args[0]?.endsWith('conmon')) return args.some((arg) => arg.includes(`${folder}/`));
    return args.includes(`${folder}/config.toml`) || (args.includes('cri') && args.includes(`${folder}/root`));
  });
  const doomed = new Set(ours.map(({ pid }) => pid));
  for (let grown = true; grown; ) {
    const children = processes.filter(({ pid, parent }) => doomed.has(parent) && !doomed.has(pid));
    for (const { pid } of children) doomed.add(pid);
    grown = children.length > 0;
  }
  for (const pid of doomed) {
    try {
      process.kill(pid, 'SIGKILL');
    } catch {} // gone by itself
  }
  untilSo(() => [...doomed].every(isDead));
}

function isDead(pid: number): boolean {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return /^[ZX]/.test(stat.slice(stat.lastIndexOf(')') + 2)); // a child of ours is reaped when this returns
  } catch {
    return true;
  }
}

/** Waits on the spot: whoever cleans up may be on its way out. */
function untilSo(isSo: () => boolean): boolean {
  const clock = new Int32Array(new SharedArrayBuffer(4));
  for (const endsAt = performance.now() + PATIENCE_MS; performance.now() < endsAt; ) {
    if (isSo()) return true;
    Atomics.wait(clock, 0, 0, LOOK_AGAIN_MS);
  }
  return false;
}

function runningProcesses(): { pid: number; parent: number; args: string[] }[] {
  return entries('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((pid) => {
      try {
        const args = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0');
        const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
        const parent = Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]); // the name may hold anything
        return [{ pid: Number(pid), parent, args }];
      } catch {
        return [];
      }
    });
}

/** Nothing to do is fine. */
export function unmountBelow(folder: string): void {
  const points = readFileSync('/proc/self/mountinfo', 'utf8')
    .split('\n')
    .map((line) => line.split(' ')[4] ?? '')
    .filter((point) => point.startsWith(`${folder}/`));
  for (const point of points.reverse()) quietly('umount', '--lazy', point);
}

/** In every hierarchy. */
export function removeCgroups(parent: string): void {
  for (const hierarchy of mountedCgroups()) removeCgroup(join(hierarchy, parent));
}

/** Folders that each hold a whole tree of cgroups. */
export function mountedCgroups(): readonly string[] {
  const root = '/sys/fs/cgroup';
  if (existsSync(join(root, 'cgroup.controllers'))) return [root];
  return cgroupHierarchies(root, parseMountinfo(readFileSync('/proc/self/mountinfo', 'utf8')));
}

/** A cgroup goes with rmdir, its children first; the kernel takes the files away, a moment after the last process. */
function removeCgroup(path: string): void {
  for (const child of folders(path)) removeCgroup(join(path, child));
  untilSo(() => {
    try {
      rmdirSync(path);
    } catch {}
    return !existsSync(path);
  });
}

/** Somebody else may be at it, too. */
function removeFolder(folder: string): void {
  let fault: unknown;
  const isGone = untilSo(() => {
    try {
      rmSync(folder, { recursive: true, force: true });
    } catch (error) {
      fault = error;
    }
    return !existsSync(folder);
  });
  if (!isGone) throw fault;
}

function entries(path: string): string[] {
  try {
    return readdirSync(path);
  } catch {
    return [];
  }
}

function folders(path: string): string[] {
  try {
    return readdirSync(path, { withFileTypes: true }).flatMap((entry) => (entry.isDirectory() ? [entry.name] : []));
  } catch {
    return [];
  }
}

function quietly(program: string, ...args: string[]): void {
  try {
    execFileSync(program, args, { stdio: 'ignore' });
  } catch {} // what is not there need not go
}
