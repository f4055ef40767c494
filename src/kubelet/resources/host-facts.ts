import type { Cgroups } from '../../host/cgroups.ts';
import type { FileSystem } from '../../host/file-system.ts';
import { hugePagePools, hugePageSizeText } from './huge-pages.ts';

/** Facts of the machine that requests to the runtime depend on. They do not change while the agent runs. */
export interface HostFacts {
  readonly cgroupVersion: 'v1' | 'v2';
  /** The page sizes for which the kernel has pools: `2MB`, `1GB`. */
  readonly hugePageSizes: readonly string[];
  /** The kernel can limit swap per cgroup. */
  readonly swapControllerAvailable: boolean;
  /** All swap space of the machine. */
  readonly swapBytes: number;
  /** CPU counters that containers must not read. */
  readonly thermalThrottlePaths: readonly string[];
  readonly cpuCount: number;
  /** Bytes of a page of memory. */
  readonly pageSize: number;
  readonly appArmorEnabled: boolean;
  readonly seLinuxEnabled: boolean;
  readonly kernel: KernelVersion;
}

export interface KernelVersion {
  readonly major: number;
  readonly minor: number;
}

export interface HostFactsDeps {
  readonly fs: FileSystem;
  readonly cgroups: Pick<Cgroups, 'version'>;
}

/** Values that the kernel passes to a new program, as pairs of words: a key and its value. */
const AUXILIARY_VECTOR = '/proc/self/auxv';
const PAGE_SIZE_KEY = 6n;
const USUAL_PAGE_SIZE = 4096;

/** A missing or unreadable file means that the machine does not have the feature. */
export async function readHostFacts({ fs, cgroups }: HostFactsDeps): Promise<HostFacts> {
  const cpus = await cpuFolders(fs);
  return {
    cgroupVersion: cgroups.version,
    hugePageSizes: (await hugePagePools(fs)).map((kibibytes) => hugePageSizeText(BigInt(kibibytes) * 1024n)),
    swapControllerAvailable: await hasSwapController(fs, cgroups.version),
    swapBytes: parseSwapTotal(await readIfExists(fs, '/proc/meminfo')),
    thermalThrottlePaths: await existingPaths(
      fs,
      cpus.map((folder) => `${folder}/thermal_throttle`),
    ),
    cpuCount: Math.max(1, cpus.length),
    pageSize: parsePageSize((await exists(fs, AUXILIARY_VECTOR)) ? await fs.readFile(AUXILIARY_VECTOR) : undefined),
    seLinuxEnabled: await hasSeLinux(fs),
    appArmorEnabled: (await readIfExists(fs, '/sys/module/apparmor/parameters/enabled')).startsWith('Y'),
    kernel: parseKernelVersion(await readIfExists(fs, '/proc/sys/kernel/osrelease')),
  };
}

/** `6.1` or later, for example. */
export function kernelAtLeast({ major, minor }: KernelVersion, wantedMajor: number, wantedMinor: number): boolean {
  return major > wantedMajor || (major === wantedMajor && minor >= wantedMinor);
}

export function parsePageSize(auxiliaryVector: Uint8Array = new Uint8Array()): number {
  const words = new BigUint64Array(auxiliaryVector.slice().buffer, 0, Math.floor(auxiliaryVector.length / 8));
  const key = words.findIndex((word, index) => index % 2 === 0 && word === PAGE_SIZE_KEY);
  return key === -1 ? USUAL_PAGE_SIZE : Number(words[key + 1] ?? USUAL_PAGE_SIZE);
}

function parseSwapTotal(meminfo: string): number {
  return Number(/^SwapTotal:\s*(\d+) kB$/m.exec(meminfo)?.[1] ?? 0) * 1024;
}

function parseKernelVersion(release: string): KernelVersion {
  const match = /^(\d+)\.(\d+)/.exec(release);
  return { major: Number(match?.[1] ?? 0), minor: Number(match?.[2] ?? 0) };
}

async function hasSwapController(fs: FileSystem, version: 'v1' | 'v2'): Promise<boolean> {
  if (version === 'v1') return exists(fs, '/sys/fs/cgroup/memory/memory.memsw.limit_in_bytes');
  // The root cgroup has no limits, so the file is looked up in the agent's own cgroup, or in any one below the root.
  const own = /^0::(.*)$/m.exec(await readIfExists(fs, '/proc/self/cgroup'))?.[1] ?? '/';
  if (own !== '/') return exists(fs, `/sys/fs/cgroup${own}/memory.swap.max`);
  const below = (await exists(fs, '/sys/fs/cgroup')) ? await fs.readDirectory('/sys/fs/cgroup') : [];
  const groups = below.filter(({ kind }) => kind === 'directory').map(({ name }) => `/sys/fs/cgroup/${name}`);
  const files = groups.map((path) => `${path}/memory.swap.max`);
  return (await existingPaths(fs, files)).length > 0;
}

/** A kernel with SELinux but without a policy labels every process `kernel`. */
async function hasSeLinux(fs: FileSystem): Promise<boolean> {
  if (!(await exists(fs, '/sys/fs/selinux/enforce'))) return false;
  return (await readIfExists(fs, '/proc/self/attr/current')).replace(/\0.*$/s, '').trim() !== 'kernel';
}

async function cpuFolders(fs: FileSystem): Promise<string[]> {
  const names = await entryNames(fs, '/sys/devices/system/cpu');
  return names.filter((name) => /^cpu\d+$/.test(name)).map((name) => `/sys/devices/system/cpu/${name}`);
}

async function existingPaths(fs: FileSystem, paths: readonly string[]): Promise<string[]> {
  const checks = await Promise.all(paths.map((path) => exists(fs, path)));
  return paths.filter((_, index) => checks[index]);
}

async function exists(fs: FileSystem, path: string): Promise<boolean> {
  return (await fs.stat(path)) !== undefined;
}

async function entryNames(fs: FileSystem, path: string): Promise<string[]> {
  if (!(await exists(fs, path))) return [];
  return (await fs.readDirectory(path)).map(({ name }) => name);
}

async function readIfExists(fs: FileSystem, path: string): Promise<string> {
  return (await exists(fs, path)) ? fs.readText(path) : '';
}
