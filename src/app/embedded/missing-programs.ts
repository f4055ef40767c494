import type { FileSystem } from '../../host/file-system.ts';
import { findFile, programPath } from '../pod-network/program-path.ts';

/** Debian's folder of CNI plugins, and that of the project's own releases. */
export const CNI_BIN_DIRS = ['/usr/lib/cni', '/opt/cni/bin'];

/** Alternatives by the names that users know; one of each list is enough. */
const FOR_CONTAINERS: readonly (readonly string[])[] = [['conmon'], ['crun', 'runc']];
/** Without iptables and nft, only pods on the machine's own network run (`chooseNatBackend`). */
const FOR_LOCAL_NETWORK: readonly (readonly string[])[] = [['ip']];

const LOCAL_FILES: readonly NeededFile[] = [
  { folders: ['/usr/bin'], file: 'catatonit', name: 'catatonit' },
  { folders: ['/bin'], file: 'busybox', name: 'busybox-static' },
  ...['bridge', 'host-local'].map((file) => ({ folders: CNI_BIN_DIRS, file, name: `the CNI plugin ${file}` })),
];

interface NeededFile {
  /** One of them is enough. */
  readonly folders: readonly string[];
  readonly file: string;
  readonly name: string;
}

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
  files: readonly NeededFile[],
): Promise<readonly string[]> {
  const absent = programs.map(async (names) => {
    const found = await Promise.all(names.map((name) => programPath(fs, name)));
    return found.every((path) => path === undefined) ? [names.join(' or ')] : [];
  });
  const absentFiles = files.map(async ({ folders, file, name }) =>
    (await findFile(fs, folders, file)) === undefined ? [name] : [],
  );
  return (await Promise.all([...absent, ...absentFiles])).flat();
}

/** `conmon is not installed; run 'make setup'`; `undefined` when nothing is missing. */
export function missingText(names: readonly string[]): string | undefined {
  if (names.length === 0) return undefined;
  const listed = names.length < 2 ? names.join() : `${names.slice(0, -1).join(', ')} and ${names.at(-1)}`;
  return `${listed} ${names.length === 1 ? 'is' : 'are'} not installed; run 'make setup'`;
}
