/**
 * Control groups of the cgroupfs driver. A path is the same for every controller and starts with a slash:
 * `/kubepods/besteffort/pod<uid>`. Version 1 keeps one tree per controller, version 2 a single one; callers see one.
 */
export interface Cgroups {
  readonly version: 'v1' | 'v2';

  /** Creates it and its parents in every controller; an existing one is fine. */
  create(path: string): Promise<void>;

  /**
   * Values that the kernel takes for this version; what is absent stays as it is. Fails with a `FileSystemError`
   * (ENOENT) when there is no such cgroup.
   */
  update(path: string, values: CgroupValues): Promise<void>;

  exists(path: string): Promise<boolean>;

  /** Names of the direct children in any controller, sorted. */
  children(path: string): Promise<readonly string[]>;

  /** Process numbers in it and below it, in any controller, sorted. */
  processes(path: string): Promise<readonly number[]>;

  /**
   * Removes it and everything below it; a missing one is fine. Fails with a `CgroupBusyError` while processes are in
   * it: the caller decides whether they are to be killed.
   */
  remove(path: string): Promise<void>;
}

/** Kubernetes' terms; an implementation translates them to its version's files. A limit below zero is none. */
export interface CgroupValues {
  readonly cpuShares?: number;
  readonly cpuQuotaMicroseconds?: number;
  readonly cpuPeriodMicroseconds?: number;
  readonly memoryLimitBytes?: number;
  readonly pidsLimit?: number;
  /** Bytes by page size (`2MB`). A machine that does not count huge pages by control group takes no notice. */
  readonly hugePageLimits?: Readonly<Record<string, number>>;
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
