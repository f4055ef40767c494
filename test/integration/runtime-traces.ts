import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
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
    ...processesOf(folder).map((line) => `process ${line}`),
    ...namesIn(`/sys/class/net/${bridge}/brif`).map((name) => `port ${name}`),
    ...namesIn(join(folder, 'ipam', bridge))
      .filter((name) => /^[0-9a-f]+[.:]/.test(name))
      .map((name) => `address ${name}`),
    ...['sandboxes', 'containers', 'cni'].flatMap((kind) => filesBelow(join(folder, 'root/runtime', kind))),
    ...['sandboxes', 'containers', 'exits', 's', 'oci'].flatMap((kind) =>
      namesIn(join(folder, 'state/runtime', kind)).map((name) => `state ${kind}/${name}`),
    ),
    ...ociStates(folder),
    ...snapshots(folder),
    ...unfinished(folder),
    ...portChains(),
  ];
}

/** Of writes and layers that were cut off. One folder belongs to the life of now. */
function unfinished(folder: string): string[] {
  const root = join(folder, 'root/runtime');
  const lives = namesIn(join(root, 'storage/unfinished'));
  const rest = [...namesIn(root), ...namesIn(join(root, 'storage')), ...namesIn(join(folder, 'state/runtime'))];
  return [
    ...(lives.length > 1 ? [`unfinished of ${lives.length - 1} lives`] : []),
    ...lives.flatMap((life) => namesIn(join(root, 'storage/unfinished', life))).map((name) => `unfinished ${name}`),
    ...rest.filter((name) => name.startsWith('.')).map((name) => `unfinished ${name}`),
  ];
}

/** What the plugin portmap has for one pod. */
function portChains(): string[] {
  try {
    const rules = execFileSync('iptables', ['-t', 'nat', '-S'], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    return rules.split('\n').filter((line) => line.startsWith('-N CNI-DN-'));
  } catch {
    return []; // no iptables: no port mappings
  }
}

function ociStates(folder: string): string[] {
  const root = join(folder, 'state/runtime/oci');
  return namesIn(root).flatMap((program) => namesIn(join(root, program)).map((id) => `oci ${program}/${id}`));
}

/** Writable layers have the ids of their containers in their paths; mounted images a name of 32 letters. */
function snapshots(folder: string): string[] {
  const root = join(folder, 'root/runtime/storage');
  const isOfContainer = (path: string): boolean => /^(?:snapshots\/[0-9a-f]{64}|views\/.+)$/.test(path);
  return namesIn(root)
    .flatMap((name) => namesIn(join(root, name)).map((id) => `${name}/${id}`))
    .filter(isOfContainer)
    .map((path) => `snapshot ${path}`);
}

/** All that was told a path of the runtime: monitors, the OCI runtime, plugins; not the runtime itself. */
function processesOf(folder: string): string[] {
  return namesIn('/proc').flatMap((pid) => {
    if (!/^\d+$/.test(pid)) return [];
    try {
      const args = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0');
      const isOurs = args.some((arg) => arg.includes(`${folder}/`)) && !args.includes('cri');
      const id = args[args.indexOf('-c') + 1] ?? '';
      return isOurs ? [`${pid} ${basename(args[0] ?? '')} ${id}`] : [];
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
