import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync, rmdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';

/** Everything that a runtime of a test makes on the machine follows from its folder's name. */
export interface Footprint {
  readonly folder: string;
  readonly socketPath: string;
  readonly bridge: string;
  /** Below which tests put the cgroups of their pods. */
  readonly cgroupParent: string;
  /** The addresses of its pods. */
  readonly subnet: string;
}

/**
 * Takes away what a runtime left that is gone: monitors and their containers, network namespaces, mounts, the bridge,
 * cgroups and files. Nothing to do is fine.
 */
export function removeLeftovers(footprint: Footprint): void {
  const namespaces = networkNamespaces(footprint.folder);
  killMonitors(footprint);
  for (const path of namespaces) quietly('ip', 'netns', 'delete', path.slice(path.lastIndexOf('/') + 1));
  unmountBelow(footprint.folder);
  quietly('ip', 'link', 'delete', footprint.bridge);
  removeCgroups(footprint.cgroupParent);
  rmSync(footprint.folder, { recursive: true, force: true, maxRetries: 5 });
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

/** A monitor is a daemon of its own: a shim is told by the socket that it reports to, conmon by the files it writes. */
function killMonitors({ socketPath, folder }: Footprint): void {
  const processes = runningProcesses();
  const monitors = processes.filter(({ args }) => {
    if (args[0]?.includes('containerd-shim')) return args.includes(socketPath);
    return args[0]?.endsWith('conmon') && args.some((arg) => arg.includes(`${folder}/`));
  });
  const doomed = new Set(monitors.map(({ pid }) => pid));
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

function removeCgroups(parent: string): void {
  for (const hierarchy of ['', ...entries('/sys/fs/cgroup')]) removeCgroup(join('/sys/fs/cgroup', hierarchy, parent));
}

/** A cgroup goes with rmdir, its children first; the kernel takes the files away. */
function removeCgroup(path: string): void {
  for (const child of folders(path)) removeCgroup(join(path, child));
  try {
    rmdirSync(path);
  } catch {} // never there in this hierarchy, or still busy
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
