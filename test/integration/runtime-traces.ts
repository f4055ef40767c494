import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TestRuntime } from './runtime-fixture.ts';

/**
 * All that a runtime of a test has on the machine, a line each: what is the same before and after has leaked
 * nothing.
 */
export function runtimeTraces({
  folder,
  cgroupParent,
  bridge,
}: Pick<TestRuntime, 'folder' | 'cgroupParent' | 'bridge'>): string[] {
  const mounts = readFileSync('/proc/self/mountinfo', 'utf8')
    .split('\n')
    .map((line) => line.split(' ')[4] ?? '')
    .filter((target) => target.startsWith(`${folder}/`));
  const cgroups = namesIn('/sys/fs/cgroup').flatMap((controller) =>
    foldersBelow(join('/sys/fs/cgroup', controller, cgroupParent)),
  );
  return [
    ...mounts.map((target) => `mount ${target}`),
    ...cgroups.map((path) => `cgroup ${path}`),
    ...monitors(folder).map((line) => `monitor ${line}`),
    ...namesIn(`/sys/class/net/${bridge}/brif`).map((name) => `port ${name}`),
    ...namesIn(join(folder, 'ipam', bridge))
      .filter((name) => /^\d+\./.test(name))
      .map((name) => `address ${name}`),
    ...['sandboxes', 'containers', 'cni'].flatMap((kind) => filesBelow(join(folder, 'root/runtime', kind))),
    ...['sandboxes', 'containers', 'exits', 's', 'oci'].flatMap((kind) =>
      namesIn(join(folder, 'state/runtime', kind)).map((name) => `state ${kind}/${name}`),
    ),
    ...ociStates(folder),
    ...snapshots(folder),
  ];
}

function ociStates(folder: string): string[] {
  const root = join(folder, 'state/runtime/oci');
  return namesIn(root).flatMap((program) => namesIn(join(root, program)).map((id) => `oci ${program}/${id}`));
}

/** Writable layers have the ids of their containers in their paths. */
function snapshots(folder: string): string[] {
  const root = join(folder, 'root/runtime/storage');
  const isOfContainer = (path: string): boolean => /\/[0-9a-f]{64}$/.test(path);
  return namesIn(root)
    .flatMap((name) => namesIn(join(root, name)).map((id) => `${name}/${id}`))
    .filter(isOfContainer)
    .map((path) => `snapshot ${path}`);
}

/** conmon by the container that it is for. */
function monitors(folder: string): string[] {
  return namesIn('/proc').flatMap((pid) => {
    if (!/^\d+$/.test(pid)) return [];
    try {
      const args = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0');
      const isOurs = args[0]?.endsWith('conmon') && args.some((arg) => arg.includes(`${folder}/`));
      return isOurs ? [`${pid} ${args[args.indexOf('-c') + 1] ?? ''}`] : [];
    } catch {
      return []; // gone meanwhile
    }
  });
}

function foldersBelow(path: string): string[] {
  try {
    return readdirSync(path, { withFileTypes: true })
      .filter((entry) => entry.isDirectory())
      .flatMap(({ name }) => [join(path, name), ...foldersBelow(join(path, name))]);
  } catch {
    return [];
  }
}

function filesBelow(path: string): string[] {
  try {
    const entries = readdirSync(path, { withFileTypes: true, recursive: true });
    return entries.filter((entry) => entry.isFile()).map((entry) => `file ${join(entry.parentPath, entry.name)}`);
  } catch {
    return [];
  }
}

function namesIn(path: string): string[] {
  try {
    return readdirSync(path);
  } catch {
    return [];
  }
}
