import type { FileSystem } from '../../host/file-system.ts';
import { programPath } from '../pod-network/program-path.ts';

/** Programs by the name a user knows them by; of a list, one is enough. */
const FOR_CONTAINERS: readonly (readonly string[])[] = [['conmon'], ['crun', 'runc']];
const FOR_LOCAL_NETWORK: readonly (readonly string[])[] = [['ip'], ['iptables'], ['iptables-save']];

const LOCAL_FILES: ReadonlyArray<readonly [path: string, name: string]> = [
  ['/usr/bin/catatonit', 'catatonit'],
  ['/bin/busybox', 'busybox-static'],
  ...['bridge', 'host-local', 'portmap'].map(
    (plugin) => [`/usr/lib/cni/${plugin}`, `the CNI plugin ${plugin}`] as const,
  ),
];

/** What a runtime needs and this machine does not have. */
export function missingForRuntime(fs: FileSystem): Promise<readonly string[]> {
  return missing(fs, FOR_CONTAINERS, []);
}

/** The same for `nodelet run`, which brings its own network and an image. */
export function missingForLocalRuntime(fs: FileSystem): Promise<readonly string[]> {
  return missing(fs, [...FOR_CONTAINERS, ...FOR_LOCAL_NETWORK], LOCAL_FILES);
}

async function missing(
  fs: FileSystem,
  programs: readonly (readonly string[])[],
  files: typeof LOCAL_FILES,
): Promise<readonly string[]> {
  const absent = programs.map(async (names) => {
    const found = await Promise.all(names.map((name) => programPath(fs, name)));
    return found.every((path) => path === undefined) ? [names.join(' or ')] : [];
  });
  const absentFiles = files.map(async ([path, name]) => ((await fs.stat(path)) === undefined ? [name] : []));
  return (await Promise.all([...absent, ...absentFiles])).flat();
}

/** `conmon is not installed; run 'make setup'`; `undefined` when nothing is missing. */
export function missingText(names: readonly string[]): string | undefined {
  if (names.length === 0) return undefined;
  const listed = names.length < 2 ? names.join() : `${names.slice(0, -1).join(', ')} and ${names.at(-1)}`;
  return `${listed} ${names.length === 1 ? 'is' : 'are'} not installed; run 'make setup'`;
}
