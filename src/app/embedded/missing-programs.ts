import { DEFAULT_PATH } from '../../base/default-path.ts';
import type { FileSystem } from '../../host/file-system.ts';

/** Alternatives by the names that users know; one of each list is enough. */
const FOR_CONTAINERS: readonly (readonly string[])[] = [['conmon'], ['crun', 'runc']];
const FOR_LOCAL_NETWORK: readonly (readonly string[])[] = [['ip'], ['iptables'], ['iptables-save']];

const LOCAL_FILES: ReadonlyArray<readonly [path: string, name: string]> = [
  ['/usr/bin/catatonit', 'catatonit'],
  ['/bin/busybox', 'busybox-static'],
  ...['bridge', 'host-local', 'portmap'].map(
    (plugin) => [`/usr/lib/cni/${plugin}`, `the CNI plugin ${plugin}`] as const,
  ),
];

/** The programs that the embedded runtime needs and this machine does not have. */
export function missingForRuntime(fs: FileSystem): Promise<readonly string[]> {
  return missing(fs, FOR_CONTAINERS, []);
}

/** The same for `nodelet run`, which also creates a bridge network and a local image. */
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

/** Returns `undefined` if no folder of the search path has the program. */
async function programPath(fs: Pick<FileSystem, 'stat'>, name: string): Promise<string | undefined> {
  for (const folder of DEFAULT_PATH.split(':')) {
    const path = `${folder}/${name}`;
    if ((await fs.stat(path))?.kind === 'file') return path;
  }
  return undefined;
}
