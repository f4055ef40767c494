import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, rmdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { cgroupHierarchies } from '../../src/host/linux/cgroup/cgroup-v1.ts';
import { parseMountinfo } from '../../src/host/linux/proc/mountinfo.ts';

/** All resources of a test runtime derive their names from its directory. */
export interface RuntimeFootprint {
  readonly folder: string;
  readonly socketPath: string;
  readonly bridge: string;
  /** The parent cgroup of the test's pods. */
  readonly cgroupParent: string;
}

/** The time in which killed processes are gone on the busiest machine. */
const PATIENCE_MS = 20_000;
const LOOK_AGAIN_MS = 5;

/**
 * Removes all resources of a runtime that is gone or exiting: its process, monitors and their containers, network namespaces,
 * mounts, the bridge, cgroups and files. Idempotent.
 */
export function removeRuntimeResources(footprint: RuntimeFootprint): void {
  const namespaces = networkNamespaces(footprint.folder);
  killProcesses(footprint);
  for (const path of namespaces) quietly('ip', 'netns', 'delete', path.slice(path.lastIndexOf('/') + 1));
  unmountBelow(footprint.folder);
  quietly('ip', 'link', 'delete', footprint.bridge);
  removeCgroups(footprint.cgroupParent);
  removeFolder(footprint.folder);
}

/** The network namespaces of sandboxes whose bundles still exist: paths such as `/var/run/netns/cni-…`. */
export function networkNamespaces(folder: string): readonly string[] {
  const bundles = join(folder, 'state/io.containerd.runtime.v2.task/k8s.io');
  const paths = entries(bundles).flatMap((id): string[] => {
    try {
      const spec = JSON.parse(readFileSync(join(bundles, id, 'config.json'), 'utf8'));
      return spec.linux.namespaces.flatMap((namespace: { type: string; path?: string }) =>
        namespace.type === 'network' && namespace.path?.includes('/netns/') ? [namespace.path] : [],
      );
    } catch {
      return []; // partly created or removed
    }
  });
  return [...new Set(paths)];
}

/**
 * Kills the runtime itself and its monitors, which are separate daemons: a shim is identified by
 * the socket that it reports to, conmon by the files it writes. Returns when they and their operations have
 * ended: only then can cgroups be removed, and no process writes into the directory.
 */
function killProcesses({ socketPath, folder }: RuntimeFootprint): void {
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
    } catch {} // exited by itself
  }
  untilSo(() => [...doomed].every(isDead));
}

function isDead(pid: number): boolean {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return /^[ZX]/.test(stat.slice(stat.lastIndexOf(')') + 2)); // our children are reaped when this returns
  } catch {
    return true;
  }
}

/** Waits synchronously: the caller may be in an exit handler. */
function untilSo(isSo: () => boolean): boolean {
  const clock = new Int32Array(new SharedArrayBuffer(4));
  for (const endsAt = performance.now() + PATIENCE_MS; performance.now() < endsAt; ) {
    if (isSo()) return true;
    Atomics.wait(clock, 0, 0, LOOK_AGAIN_MS);
  }
  return false;
}

/** All processes of the machine. */
export function runningProcesses(): {
  readonly pid: number;
  readonly parent: number;
  readonly args: readonly string[];
}[] {
  return entries('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((pid) => {
      try {
        const args = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0');
        const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
        const parent = Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]); // the name may contain any character
        return [{ pid: Number(pid), parent, args }];
      } catch {
        return []; // exited meanwhile
      }
    });
}

/** Idempotent. */
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

/** Directories that each hold a whole cgroup tree. */
export function mountedCgroups(): readonly string[] {
  const root = '/sys/fs/cgroup';
  if (existsSync(join(root, 'cgroup.controllers'))) return [root];
  return cgroupHierarchies(root, parseMountinfo(readFileSync('/proc/self/mountinfo', 'utf8')));
}

/** rmdir removes a cgroup, children first; it fails until the last process is gone. */
function removeCgroup(path: string): void {
  for (const child of folders(path)) removeCgroup(join(path, child));
  untilSo(() => {
    try {
      rmdirSync(path);
    } catch {}
    return !existsSync(path);
  });
}

/** Another process may remove it too. */
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
  } catch {} // already gone
}
