import { ExpectedError } from '../base/expected-error.ts';

/** Who manages cgroups: the program itself in the cgroup file system, or systemd as units. */
export type CgroupDriver = 'cgroupfs' | 'systemd';

/**
 * Control groups of the cgroupfs driver. A path is the same for every controller and starts with a slash:
 * `/kubepods/besteffort/pod<uid>`. Version 1 has one tree per controller, version 2 a single one; callers see one tree.
 */
export interface Cgroups {
  readonly version: 'v1' | 'v2';

  /**
   * Creates the cgroup and its parents in every controller; an existing one is not an error. Rejects with a `CgroupError` if
   * the machine does not allow it.
   */
  create(path: string): Promise<void>;

  /**
   * Rejects with a `CgroupError` unless these controllers work in an existing cgroup of version 2. Huge pages are counted
   * only by some kernels: on others their controller is not needed. In version 1 every controller works in every cgroup.
   */
  requireControllers(path: string, controllers: readonly CgroupController[]): Promise<void>;

  /**
   * Writes the values that this version has files for; absent values stay unchanged. Rejects with a `FileSystemError`
   * (ENOENT) when the cgroup does not exist, and with a `CgroupError` if it has no controller for a value.
   */
  update(path: string, values: CgroupValues): Promise<void>;

  exists(path: string): Promise<boolean>;

  /**
   * What an existing cgroup would have and this one does not; `undefined` for a complete one. Only the hierarchies and
   * controllers that kubelet needs count.
   */
  missing(path: string): Promise<MissingCgroup | undefined>;

  /** Names of the direct children in any controller, sorted. */
  children(path: string): Promise<readonly string[]>;

  /** Pids in the cgroup and below it, in any controller, sorted. */
  processes(path: string): Promise<readonly number[]>;

  /** Pids in the cgroup itself, in any controller, sorted. */
  ownProcesses(path: string): Promise<readonly number[]>;

  /** Moves a process to an existing cgroup in every controller. Rejects with a `FileSystemError`. */
  addProcess(path: string, pid: number): Promise<void>;

  /**
   * Kills all processes in the cgroup and below it, also those that fork meanwhile; they end soon after. Resolves to `false`
   * if the kernel cannot do that (version 1, Linux before 5.14), or if the cgroup does not exist.
   */
  kill(path: string): Promise<boolean>;

  /**
   * Removes the cgroup and everything below it; a missing one is not an error. Rejects with a `CgroupBusyError` while it
   * has processes: the caller decides whether to kill them.
   */
  remove(path: string): Promise<void>;
}

/** In Kubernetes' terms; an implementation translates them to its version's files. A negative limit means unlimited. */
export interface CgroupValues {
  readonly cpuShares?: number;
  readonly cpuQuotaMicroseconds?: number;
  readonly cpuPeriodMicroseconds?: number;
  readonly memoryLimitBytes?: number;
  /** Memory that the kernel never reclaims (`memory.min`), and that it reclaims last (`memory.low`). Cgroup v2 only. */
  readonly memoryMinBytes?: number;
  readonly memoryLowBytes?: number;
  readonly pidsLimit?: number;
  /** Bytes by page size (`2MB`). Ignored on a machine without the hugetlb controller. */
  readonly hugePageLimits?: Readonly<Record<string, number>>;
}

export type MissingCgroup =
  /** Version 1: folders of hierarchies, sorted. */
  | { readonly kind: 'paths'; readonly names: readonly string[] }
  /** Version 2: controllers that the machine has and the cgroup has not, sorted. */
  | { readonly kind: 'controllers'; readonly names: readonly string[] }
  /** Version 2: the cgroup does not exist. */
  | { readonly kind: 'unreadable'; readonly file: string };

export type CgroupController = 'cpu' | 'memory' | 'pids' | 'hugetlb';

/** The machine does not allow a cgroup. The message names the cause and how to remove it. */
export class CgroupError extends ExpectedError {
  override readonly name = 'CgroupError';
  readonly path: string;

  constructor(path: string, reason: string, fix: string, options?: ErrorOptions) {
    super(`cgroup ${path}: ${reason}; ${fix}`, options);
    this.path = path;
  }
}

export class CgroupBusyError extends Error {
  override readonly name = 'CgroupBusyError';
  readonly path: string;
  readonly pids: readonly number[];

  constructor(path: string, pids: readonly number[]) {
    super(`cgroup ${path} still has ${pids.length} process${pids.length === 1 ? '' : 'es'}: ${pids.join(', ')}`);
    this.path = path;
    this.pids = pids;
  }
}

/**
 * Converts cgroup v1 shares (2 to 262144) to a v2 weight (1 to 10000) by the linear formula that kubelet uses for its own
 * cgroups. (Container runtimes use a newer one.)
 */
export function cpuWeight(shares: number): number {
  if (shares >= 262_144) return 10_000;
  return 1 + Math.floor((Math.max(shares - 2, 0) * 9999) / 262_142);
}
