import type { FileSystem } from '../../host/file-system.ts';
import type { ProbeResult } from './probe-program.ts';

/** What was found out about programs; forgotten when the program, the kernel's life or its cgroups are others. */
export interface ProbeCache {
  known(program: string): ProbeResult | undefined;
  /** Another whenever what is known of the program would be forgotten. */
  stamp(program: string): string;
  /** A cache that cannot be written is none. */
  keep(found: ReadonlyMap<string, ProbeResult>): Promise<void>;
}

interface Kept {
  readonly machine: string;
  readonly programs: Readonly<Record<string, { readonly stamp: string; readonly result: ProbeResult }>>;
}

type CacheFiles = Pick<FileSystem, 'readText' | 'stat' | 'writeAtomic'>;

export async function openProbeCache(path: string, programs: readonly string[], fs: CacheFiles): Promise<ProbeCache> {
  const [kept, machine, ...stamps] = await Promise.all([
    fs.readText(path).then(decode, () => undefined),
    machineOf(fs),
    ...programs.map((program) => stampOf(program, fs)),
  ]);
  const stampBy = new Map(programs.map((program, index) => [program, stamps[index] ?? '']));
  return {
    known: (program) => {
      const entry = kept?.machine === machine ? kept.programs[program] : undefined;
      return entry !== undefined && entry.stamp === stampBy.get(program) ? entry.result : undefined;
    },
    stamp: (program) => `${stampBy.get(program) ?? ''}\n${machine}`,
    keep: async (found) => {
      const entries = [...found].map(([program, result]) => [program, { stamp: stampBy.get(program) ?? '', result }]);
      const text = JSON.stringify({ machine, programs: Object.fromEntries(entries) });
      await fs.writeAtomic(path, text).catch(() => {});
    },
  };
}

/** Which kernel runs, since when, and how its cgroups are mounted. */
async function machineOf(fs: CacheFiles): Promise<string> {
  const [bootId, mounts] = await Promise.all([
    fs.readText('/proc/sys/kernel/random/boot_id').catch(() => ''),
    fs.readText('/proc/self/mounts').catch(() => ''),
  ]);
  return [bootId.trim(), ...mounts.split('\n').filter((line) => /^\S+ \S+ cgroup2? /.test(line))].join('\n');
}

async function stampOf(program: string, fs: CacheFiles): Promise<string> {
  const stat = await fs.stat(program);
  return stat === undefined ? '' : `${stat.modifiedMs} ${stat.size} ${stat.inode}`;
}

/** We wrote it ourselves; what does not have its shape is as good as none. */
function decode(text: string): Kept | undefined {
  try {
    const value: unknown = JSON.parse(text);
    const isKept = typeof value === 'object' && value !== null && 'machine' in value && 'programs' in value;
    return isKept ? (value as Kept) : undefined; // written by `keep`, replaced as a whole
  } catch {
    return undefined;
  }
}
