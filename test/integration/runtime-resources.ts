import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { mountedCgroups } from './runtime-cleanup.ts';
import type { TestRuntime } from './runtime-fixture.ts';

/**
 * All resources of a test runtime on the machine, a line each: equal lists before and after mean that nothing has
 * leaked.
 */
export function listRuntimeResources({
  folder,
  cgroupParent,
  bridge,
}: Pick<TestRuntime, 'folder' | 'cgroupParent' | 'bridge'>): string[] {
  const mounts = readFileSync('/proc/self/mountinfo', 'utf8')
    .split('\n')
    .map((line) => line.split(' ')[4] ?? '')
    .filter((target) => target.startsWith(`${folder}/`));
  const cgroups = mountedCgroups().flatMap((hierarchy) => foldersBelow(join(hierarchy, cgroupParent)));
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
    ...portChains(folder, bridge),
  ];
}

/** Interrupted writes and layers. One directory belongs to the current process. */
function unfinished(folder: string): string[] {
  const root = join(folder, 'root/runtime');
  const processes = namesIn(join(root, 'storage/unfinished'));
  const rest = [...namesIn(root), ...namesIn(join(root, 'storage')), ...namesIn(join(folder, 'state/runtime'))];
  return [
    ...(processes.length > 1 ? [`unfinished of ${processes.length - 1} processes`] : []),
    ...processes.flatMap((each) => namesIn(join(root, 'storage/unfinished', each))).map((name) => `unfinished ${name}`),
    ...rest.filter((name) => name.startsWith('.')).map((name) => `unfinished ${name}`),
  ];
}

/**
 * The chains of the portmap plugin for the pods of this network. The jump rules contain the network's name; where the plugin
 * was killed before it created them, the addresses identify the chains. Other runtimes on this machine have their own.
 */
function portChains(folder: string, bridge: string): string[] {
  const rules = natRules();
  const subnet = subnetOf(folder);
  const isOurs = (chain: string): boolean =>
    rules.some(
      (rule) =>
        (rule.endsWith(` -j ${chain}`) && rule.includes(`name: \\"${bridge}\\" `)) ||
        (rule.startsWith(`-A ${chain} `) && subnet !== undefined && rule.includes(` -s ${subnet} `)),
    );
  return podChains(rules)
    .filter(isOurs)
    .map((chain) => `ports ${chain}`);
}

/** Empty, unreferenced chains of any runtime: a plugin is just creating them, or was killed. */
export function emptyPortChains(): readonly string[] {
  const rules = natRules();
  const isUsed = (chain: string): boolean =>
    rules.some((rule) => rule.startsWith(`-A ${chain} `) || rule.endsWith(` -j ${chain}`));
  return podChains(rules).filter((chain) => !isUsed(chain));
}

function podChains(rules: readonly string[]): readonly string[] {
  return rules.flatMap((rule) => /^-N (CNI-DN-\S+)$/.exec(rule)?.[1] ?? []);
}

function natRules(): readonly string[] {
  try {
    const stdio = ['ignore', 'pipe', 'ignore'] as const;
    return execFileSync('iptables', ['-w', '-t', 'nat', '-S'], { encoding: 'utf8', stdio: [...stdio] }).split('\n');
  } catch {
    return []; // no iptables: no port mappings
  }
}

/** The network of the fixture. */
function subnetOf(folder: string): string | undefined {
  try {
    const { plugins } = JSON.parse(readFileSync(join(folder, 'cni/10-nodelet-test.conflist'), 'utf8'));
    return plugins[0].ipam.ranges[0][0].subnet;
  } catch {
    return undefined;
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

/** All processes with a path of the runtime in their arguments: monitors, the OCI runtime, plugins; not the runtime itself. */
function processesOf(folder: string): string[] {
  return namesIn('/proc').flatMap((pid) => {
    if (!/^\d+$/.test(pid)) return [];
    try {
      const args = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0');
      const isOurs = args.some((arg) => arg.includes(`${folder}/`)) && !args.includes('cri');
      const id = args[args.indexOf('-c') + 1] ?? '';
      return isOurs ? [`${pid} ${basename(args[0] ?? '')} ${id}`] : [];
    } catch {
      return []; // exited meanwhile
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
