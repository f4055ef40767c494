import type { FileSystem } from '../../host/file-system.ts';
import { programPath, SEARCH_PATH } from '../pod-network/search-path.ts';

/** Programs by the name a user knows them by. */
const REQUIRED_PROGRAMS = ['containerd', 'containerd-shim-runc-v2', 'ctr', 'runc', 'iptables', 'iptables-save', 'ip'];
const CNI_PLUGINS = ['bridge', 'host-local', 'loopback', 'portmap'];
const REQUIRED_FILES: ReadonlyArray<readonly [path: string, name: string]> = [
  ['/usr/bin/catatonit', 'catatonit'],
  ['/bin/busybox', 'busybox-static'],
  ...CNI_PLUGINS.map((plugin) => [`/usr/lib/cni/${plugin}`, `the CNI plugin ${plugin}`] as const),
];

/** What a private runtime needs and this machine does not have. */
export async function missingPrograms(fs: FileSystem): Promise<readonly string[]> {
  const programs = REQUIRED_PROGRAMS.map(async (name) => ((await programPath(fs, name)) === undefined ? [name] : []));
  const files = REQUIRED_FILES.map(async ([path, name]) => ((await fs.stat(path)) === undefined ? [name] : []));
  return (await Promise.all([...programs, ...files])).flat();
}

/** For the daemon and the programs that it starts. Proxies are for its image pulls. */
export function daemonEnvironment(
  ours: Readonly<Record<string, string | undefined>>,
): Readonly<Record<string, string>> {
  const proxies = Object.entries(ours).filter(
    (entry): entry is [string, string] => /^(https?|no)_proxy$/i.test(entry[0]) && entry[1] !== undefined,
  );
  return { PATH: SEARCH_PATH, ...Object.fromEntries(proxies) };
}
