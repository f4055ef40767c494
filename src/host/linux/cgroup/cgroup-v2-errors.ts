import { join } from 'node:path';
import { type CgroupController, CgroupError } from '../../cgroups.ts';
import { type FileSystem, FileSystemError } from '../../file-system.ts';

/** What an error is about: a cgroup of the tree at `root`. */
export interface V2Cgroup {
  readonly fs: FileSystem;
  /** The mount point. */
  readonly root: string;
  readonly path: string;
}

/** Not all kernels count huge pages: kubelet does without. */
const OPTIONAL: ReadonlySet<CgroupController> = new Set(['hugetlb']);

const USE_DOMAIN = 'set cgroupRoot to a cgroup of type "domain"';
const USE_EMPTY =
  'set cgroupRoot to a cgroup without processes of its own (a systemd unit with Delegate=yes moves its processes to a cgroup below with DelegateSubgroup=)';

/** Rejects with a `CgroupError` for the first controller that does not work in the cgroup. */
export async function requireControllersV2(cgroup: V2Cgroup, controllers: readonly CgroupController[]): Promise<void> {
  const available = await wordsOf(cgroup, cgroup.path, 'cgroup.controllers');
  for (const controller of controllers) {
    if (!available.includes(controller)) await throwMissing(cgroup, controller);
  }
}

/** Processes cannot enter a cgroup in or below a threaded one, as containers need controllers that threads cannot have. */
export async function requireDomain(cgroup: V2Cgroup): Promise<void> {
  const { path } = cgroup;
  const type = await typeOf(cgroup, path);
  if (type !== 'domain invalid' && type !== 'threaded') return;
  const types = parentsOf(path).map(async (parent) => ({ parent, type: await typeOf(cgroup, parent) }));
  const cause = (await Promise.all(types)).find((each) => each.type !== undefined && each.type !== 'domain');
  const why = cause === undefined ? '' : `, because ${cause.parent} is of type "${cause.type}"`;
  const reason = `it is of type "${type}", in which no container can run${why}`;
  const pids = cause?.type === 'domain threaded' ? await pidsOf(cgroup, cause.parent) : [];
  if (cause === undefined || pids.length === 0) throw new CgroupError(path, reason, USE_DOMAIN);
  throw new CgroupError(path, `${reason}: ${inside(cause.parent, pids)}`, USE_EMPTY);
}

/**
 * The error of an operation with its cause and a way out, as far as it is known. `file`: the file that could not be written;
 * absent: the cgroup could not be created.
 */
export async function explainV2Error(cgroup: V2Cgroup, error: unknown, file?: string): Promise<unknown> {
  if (!(error instanceof FileSystemError)) return error;
  const { fs, root, path } = cgroup;
  const folder = join(root, path);
  // The file system has no files but the kernel's: EACCES for one that does not exist.
  const isMissing = file !== undefined && (await fs.stat(folder)) !== undefined && !(await fs.stat(join(folder, file)));
  if (isMissing && isController(file)) return missingError(cgroup, file);
  return denied(cgroup, error) ?? error;
}

function denied({ root, path }: V2Cgroup, error: FileSystemError): CgroupError | undefined {
  const cause = { cause: error };
  switch (error.code) {
    case 'EROFS':
      return new CgroupError(
        path,
        `${root} is mounted read-only`,
        `remount it (mount -o remount,rw ${root}), or give the container in which the agent runs a writable one`,
        cause,
      );
    case 'EACCES':
    case 'EPERM':
      return new CgroupError(
        path,
        `permission denied at ${error.path}`,
        'run the agent as root, or set cgroupRoot to a cgroup that is delegated to its user (Delegate=yes in a systemd unit)',
        cause,
      );
    case 'EAGAIN':
      return new CgroupError(
        path,
        `too many or too deeply nested cgroups at ${error.path}`,
        'raise cgroup.max.descendants or cgroup.max.depth of a cgroup above it',
        cause,
      );
    default:
      return undefined;
  }
}

function isController(file: string): boolean {
  return /^(?:cpu|memory|pids)\./.test(file);
}

/** `undefined` as error: the controller was enabled meanwhile. */
async function missingError(cgroup: V2Cgroup, file: string): Promise<unknown> {
  const controller = file.slice(0, file.indexOf('.')) as CgroupController; // `isController` has checked it
  return throwMissing(cgroup, controller).then(
    () => new CgroupError(cgroup.path, `it has no ${file}`, 'use a newer kernel'),
    (error: unknown) => error,
  );
}

/** Rejects with the reason why the cgroup does not have a controller. Resolves if it has now. */
async function throwMissing(cgroup: V2Cgroup, controller: CgroupController): Promise<void> {
  const { root, path } = cgroup;
  const offered = await wordsOf(cgroup, '/', 'cgroup.controllers');
  if (!offered.includes(controller)) {
    if (OPTIONAL.has(controller)) return;
    const reason = `the controller ${controller} is not available: ${root}/cgroup.controllers has only "${offered.join(' ')}"`;
    const fix = `boot the kernel with ${controller} in cgroup v2 (without cgroup_disable=${controller} and cgroup v1 mounts), or delegate it to the container in which the agent runs`;
    throw new CgroupError(path, reason, fix);
  }
  for (const parent of parentsOf(path)) {
    const enabled = await wordsOf(cgroup, parent, 'cgroup.subtree_control');
    if (!enabled.includes(controller)) await enableOrThrow(cgroup, parent, controller);
  }
}

async function enableOrThrow(cgroup: V2Cgroup, parent: string, controller: CgroupController): Promise<void> {
  const { fs, root, path } = cgroup;
  const reason = `the controller ${controller} is not enabled below ${parent}`;
  // The root of the machine may have processes; only it has no type. That of a container is a cgroup like others.
  const pids = (await typeOf(cgroup, parent)) === undefined ? [] : await pidsOf(cgroup, parent);
  // Not tried: the kernel would enable some controllers, and make all cgroups below unusable ("domain invalid").
  if (pids.length > 0) {
    const fix = parent === '/' ? `write their pids to the cgroup.procs of a new cgroup below ${root} first` : USE_EMPTY;
    throw new CgroupError(path, `${reason}: ${inside(parent, pids)}`, fix);
  }
  try {
    await fs.writeFile(join(root, parent, 'cgroup.subtree_control'), `+${controller}`);
  } catch (error) {
    if (!(error instanceof FileSystemError)) throw error;
    throw denied(cgroup, error) ?? refused(cgroup, `${reason} (${error.code})`, error, controller);
  }
}

function refused({ path }: V2Cgroup, reason: string, error: FileSystemError, controller: string): CgroupError {
  const cause = { cause: error };
  if (error.code === 'EOPNOTSUPP') return new CgroupError(path, `${reason}: it is threaded`, USE_DOMAIN, cause);
  if (error.code === 'EBUSY') return new CgroupError(path, `${reason}: it has processes of its own`, USE_EMPTY, cause);
  if (error.code === 'EINVAL' && controller === 'cpu') {
    const fix = 'end real-time processes, or move them to the root cgroup';
    return new CgroupError(path, `${reason}: real-time processes are in other cgroups than the root`, fix, cause);
  }
  return new CgroupError(path, reason, `enable it: echo +${controller} > ${error.path}`, cause);
}

/** The "no internal processes" rule of cgroup v2. */
function inside(parent: string, pids: readonly string[]): string {
  const listed = pids.length > 5 ? `${pids.slice(0, 5).join(', ')}, …` : pids.join(', ');
  return `${parent} has processes of its own (${listed}), and the kernel enables controllers only below cgroups without`;
}

/** `/`, `/a` and `/a/b` of `/a/b/c`. */
function parentsOf(path: string): readonly string[] {
  const names = path.split('/').filter(Boolean);
  return names.map((_, index) => `/${names.slice(0, index).join('/')}`);
}

async function pidsOf({ fs, root }: V2Cgroup, path: string): Promise<readonly string[]> {
  const file = join(root, path, 'cgroup.procs');
  if ((await fs.stat(file)) === undefined) return [];
  try {
    return (await fs.readText(file)).split('\n').filter(Boolean);
  } catch (error) {
    // A threaded cgroup does not list its processes.
    if (error instanceof FileSystemError && error.code === 'EOPNOTSUPP') return [];
    throw error;
  }
}

/** `undefined` for the root cgroup. */
async function typeOf({ fs, root }: V2Cgroup, path: string): Promise<string | undefined> {
  const file = join(root, path, 'cgroup.type');
  return (await fs.stat(file)) === undefined ? undefined : (await fs.readText(file)).trim();
}

async function wordsOf({ fs, root }: V2Cgroup, path: string, name: string): Promise<readonly string[]> {
  const file = join(root, path, name);
  return (await fs.stat(file)) === undefined ? [] : (await fs.readText(file)).split(/\s+/).filter(Boolean);
}
