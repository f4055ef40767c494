import type { FileSystem } from '../../host/file-system.ts';
import type { Processes, ProcessIdentity } from '../../host/processes.ts';

export interface FindProcessesParts {
  readonly fs: FileSystem;
  readonly processes: Processes;
}

/** The living processes whose command line fits. */
export async function findProcesses(
  { fs, processes }: FindProcessesParts,
  fits: (program: string, args: readonly string[]) => boolean,
): Promise<readonly ProcessIdentity[]> {
  const pids = (await fs.readDirectory('/proc')).map(({ name }) => Number(name)).filter(Number.isInteger);
  const found: ProcessIdentity[] = [];
  for (const pid of pids) {
    // A process may end while we look.
    const line = await fs.readText(`/proc/${pid}/cmdline`).catch(() => '');
    const [program = '', ...args] = line.replace(/\0$/, '').split('\0');
    const identity = fits(program, args) ? await processes.identify(pid) : undefined;
    if (identity) found.push(identity);
  }
  return found;
}
