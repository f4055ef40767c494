import type { FileSystem } from '../../host/file-system.ts';
import type { ProbeResult } from './probe-program.ts';

/** Cached probe results; invalidated if the program, the boot or the cgroup mounts changed. */
export interface ProbeCache {
  get(program: string): ProbeResult | undefined;
  /** Changes whenever the cached result would be invalidated. */
  stamp(program: string): string;
  /** Write errors are ignored. */
  put(found: ReadonlyMap<string, ProbeResult>): Promise<void>;
}

interface CacheFile {
  readonly machine: string;
  readonly programs: Readonly<Record<string, { readonly stamp: string; readonly result: ProbeResult }>>;
}

type CacheFiles = Pick<FileSystem, 'readText' | 'stat' | 'writeAtomic'>;

export async function openProbeCache(path: string, programs: readonly string[], fs: CacheFiles): Promise<ProbeCache> {
  const [cached, machine, ...stamps] = await Promise.all([
    fs.readText(path).then(decode, () => undefined),
    machineStamp(fs),
    ...programs.map((program) => programStamp(program, fs)),
  ]);
  const stampBy = new Map(programs.map((program, index) => [program, stamps[index] ?? '']));
  return {
    get: (program) => {
      const entry = cached?.machine === machine ? cached.programs[program] : undefined;
      return entry !== undefined && entry.stamp === stampBy.get(program) ? entry.result : undefined;
    },
    stamp: (program) => `${stampBy.get(program) ?? ''}\n${machine}`,
    put: async (found) => {
      const entries = [...found].map(([program, result]) => [program, { stamp: stampBy.get(program) ?? '', result }]);
      const text = JSON.stringify({ machine, programs: Object.fromEntries(entries) });
      await fs.writeAtomic(path, text).catch(() => {});
    },
  };
}

/** Identifies the running kernel, its boot, and its cgroup mounts. */
async function machineStamp(fs: CacheFiles): Promise<string> {
  const [bootId, mounts] = await Promise.all([
    fs.readText('/proc/sys/kernel/random/boot_id').catch(() => ''),
    fs.readText('/proc/self/mounts').catch(() => ''),
  ]);
  return [bootId.trim(), ...mounts.split('\n').filter((line) => /^\S+ \S+ cgroup2? /.test(line))].join('\n');
}

async function programStamp(program: string, fs: CacheFiles): Promise<string> {
  const stat = await fs.stat(program);
  return stat === undefined ? '' : `${stat.modifiedMs} ${stat.size} ${stat.inode}`;
}

/** A file with another shape counts as missing. */
function decode(text: string): CacheFile | undefined {
  try {
    const value: unknown = JSON.parse(text);
    const isCacheFile = typeof value === 'object' && value !== null && 'machine' in value && 'programs' in value;
    return isCacheFile ? (value as CacheFile) : undefined; // written by `keep`, replaced as a whole
  } catch {
    return undefined;
  }
}
