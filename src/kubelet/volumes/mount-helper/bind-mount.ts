import type { FileSystem } from '../../../host/file-system.ts';
import type { MountEntry, MountFlag, Mounts } from '../../../host/mounts.ts';
import type { Processes } from '../../../host/processes.ts';
import { joinMountOptions } from './mount-options.ts';
import { mountByProgram } from './mount-program.ts';

const FLAGS: Readonly<Record<string, MountFlag>> = {
  ro: 'readOnly',
  nosuid: 'noSuid',
  nodev: 'noDev',
  noexec: 'noExec',
};
const DIRECTORY_MODE = 0o750;

export interface BindMount {
  readonly source: string;
  readonly target: string;
  /** As for mount(8), without `bind`. */
  readonly options: readonly string[];
}

export interface BindMountDeps {
  readonly fs: FileSystem;
  readonly mounts: Mounts;
  readonly processes: Processes;
}

/** Binds a directory to a new one. Options that only mount(8) knows are set by it. Nothing is left after an error. */
export async function bindMount(
  { source, target, options }: BindMount,
  deps: BindMountDeps,
  signal: AbortSignal,
): Promise<void> {
  const { fs, mounts } = deps;
  await fs.makeDirectory(target, DIRECTORY_MODE);
  try {
    if (options.some((option) => !Object.hasOwn(FLAGS, option))) {
      await mountByProgram({ source, target, options: joinMountOptions(['bind'], options) }, deps, signal);
    } else {
      await mounts.mount({ source, target, flags: ['bind', ...options.flatMap((option) => FLAGS[option] ?? [])] });
    }
  } catch (error) {
    await mounts.unmount(target).then(
      () => fs.remove(target),
      () => undefined, // the first error is the cause; the next try starts again
    );
    throw error;
  }
}

/**
 * The other mount points that show the same files as a resolved path: bind mounts of it, or the mounts that it is a bind
 * mount of. kubelet's `GetMountRefs`.
 */
export function mountReferences(entries: readonly MountEntry[], path: string): readonly string[] {
  const index = entries.findLastIndex(({ target }) => path === target || path.startsWith(`${withoutSlash(target)}/`));
  const own = entries[index];
  if (own === undefined) return [];
  const root = `${withoutSlash(own.root)}${path.slice(withoutSlash(own.target).length)}` || '/';
  const others = entries.filter((entry, at) => at !== index && entry.device === own.device && entry.root === root);
  return others.map(({ target }) => target);
}

function withoutSlash(path: string): string {
  return path === '/' ? '' : path;
}
