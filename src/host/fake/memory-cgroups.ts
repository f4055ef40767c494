import { posix } from 'node:path';
import { byCodePoint } from '../../base/code-point-order.ts';
import {
  CgroupBusyError,
  type CgroupController,
  CgroupError,
  type Cgroups,
  type CgroupValues,
  type MissingCgroup,
} from '../cgroups.ts';
import { FileSystemError } from '../file-system.ts';
import { ErrorInjector } from './error-injector.ts';

interface Cgroup {
  values: CgroupValues;
  readonly pids: Set<number>;
}

/** Control groups in memory. */
export class MemoryCgroups implements Cgroups {
  readonly version: 'v1' | 'v2';
  /** `errors.failNext('create', 'EACCES', path?)`. */
  readonly errors = new ErrorInjector<'create' | 'update' | 'remove' | 'addProcess'>();
  /** Controllers that the machine does not have. */
  readonly missingControllers = new Set<CgroupController>();
  /** Kills a process for `kill`; absent: the kernel cannot kill a cgroup. */
  onKill: ((pid: number) => void) | undefined;
  readonly #cgroups = new Map<string, Cgroup>([['/', { values: {}, pids: new Set() }]]);

  constructor(version: 'v1' | 'v2' = 'v2') {
    this.version = version;
  }

  async create(path: string): Promise<void> {
    this.#throwInjected('create', path);
    for (let each = path; !this.#cgroups.has(each); each = posix.dirname(each)) {
      this.#cgroups.set(each, { values: {}, pids: new Set() });
    }
  }

  async update(path: string, values: CgroupValues): Promise<void> {
    this.#throwInjected('update', path);
    const cgroup = this.#existing('update', path);
    cgroup.values = { ...cgroup.values, ...values };
  }

  async requireControllers(path: string, controllers: readonly CgroupController[]): Promise<void> {
    const missing = controllers.find((each) => this.version === 'v2' && this.missingControllers.has(each));
    if (missing === undefined) return;
    throw new CgroupError(path, `the controller ${missing} is not available`, 'boot a kernel that has it');
  }

  async kill(path: string): Promise<boolean> {
    if (this.onKill === undefined || !this.#cgroups.has(path)) return false;
    for (const pid of await this.processes(path)) this.onKill(pid);
    return true;
  }

  async exists(path: string): Promise<boolean> {
    return this.#cgroups.has(path);
  }

  async missing(path: string): Promise<MissingCgroup | undefined> {
    if (!this.#cgroups.has(path)) {
      return this.version === 'v1' ? { kind: 'paths', names: [path] } : { kind: 'unreadable', file: path };
    }
    const names = [...this.missingControllers].sort(byCodePoint);
    return this.version === 'v1' || names.length === 0 ? undefined : { kind: 'controllers', names };
  }

  async ownProcesses(path: string): Promise<readonly number[]> {
    return [...(this.#cgroups.get(path)?.pids ?? [])].sort((a, b) => a - b);
  }

  async addProcess(path: string, pid: number): Promise<void> {
    this.#throwInjected('addProcess', path);
    this.enter(path, pid);
  }

  async children(path: string): Promise<readonly string[]> {
    const paths = [...this.#cgroups.keys()].filter((each) => each !== '/' && posix.dirname(each) === path);
    return paths.map((each) => posix.basename(each)).sort(byCodePoint);
  }

  async processes(path: string): Promise<readonly number[]> {
    return this.#below(path)
      .flatMap(([, { pids }]) => [...pids])
      .sort((a, b) => a - b);
  }

  async remove(path: string): Promise<void> {
    this.#throwInjected('remove', path);
    const pids = await this.processes(path);
    if (pids.length > 0) throw new CgroupBusyError(path, pids);
    for (const [each] of this.#below(path)) this.#cgroups.delete(each);
  }

  /** The values of all updates so far; `undefined` when the cgroup does not exist. */
  valuesOf(path: string): CgroupValues | undefined {
    return this.#cgroups.get(path)?.values;
  }

  /** Moves a process to a cgroup; it leaves its previous one. */
  enter(path: string, pid: number): void {
    const cgroup = this.#existing('enter', path);
    this.leave(pid);
    cgroup.pids.add(pid);
  }

  /** Removes a process that has ended. */
  leave(pid: number): void {
    for (const { pids } of this.#cgroups.values()) pids.delete(pid);
  }

  #below(path: string): [path: string, cgroup: Cgroup][] {
    const prefix = path === '/' ? '/' : `${path}/`;
    return [...this.#cgroups].filter(([each]) => each === path || each.startsWith(prefix));
  }

  #existing(operation: string, path: string): Cgroup {
    const cgroup = this.#cgroups.get(path);
    if (cgroup === undefined) throw new FileSystemError('ENOENT', operation, path);
    return cgroup;
  }

  #throwInjected(operation: 'create' | 'update' | 'remove' | 'addProcess', path: string): void {
    const code = this.errors.take(operation, path);
    if (code !== undefined) throw new FileSystemError(code, operation, path);
  }
}
