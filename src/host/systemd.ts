/**
 * systemd, the machine's service manager: it owns the cgroups that it creates for its units, and reverts changes that it does
 * not know of. So a cgroup of a unit is created, limited and removed through it.
 */
export interface Systemd {
  /**
   * Starts a unit that has no file. Resolves when it is active; a unit of this name that exists already is not an error.
   */
  startTransientUnit(name: string, properties: UnitProperties, signal?: AbortSignal): Promise<void>;

  /** Changes a unit until the next boot. A slice need not be active: it has the properties when it starts. */
  setUnitProperties(name: string, properties: UnitProperties, signal?: AbortSignal): Promise<void>;

  /** Stops a unit and waits for it; a missing one is not an error. A failed unit is forgotten, so that its name is free. */
  stopUnit(name: string, signal?: AbortSignal): Promise<void>;

  /**
   * Moves processes into a scope; a missing scope is created with the properties, which must have `Delegate`. systemd removes
   * the scope when its last process has ended.
   */
  moveToScope(name: string, pids: readonly number[], properties: UnitProperties, signal?: AbortSignal): Promise<void>;
}

/** The properties in use, with systemd's names; see systemd.resource-control(5). */
export interface UnitProperties {
  readonly Description?: string;
  readonly Slice?: string;
  readonly Wants?: readonly string[];
  readonly DefaultDependencies?: boolean;
  readonly CollectMode?: 'inactive' | 'inactive-or-failed';
  /** The cgroup may have children and processes that systemd did not put there. */
  readonly Delegate?: boolean;
  /** The first processes of a scope. */
  readonly PIDs?: readonly number[];
  readonly CPUAccounting?: boolean;
  readonly MemoryAccounting?: boolean;
  readonly IOAccounting?: boolean;
  readonly TasksAccounting?: boolean;
  readonly CPUWeight?: bigint;
  /** Of cgroup v1. */
  readonly CPUShares?: bigint;
  /** Microseconds of CPU time per second. */
  readonly CPUQuotaPerSecUSec?: bigint;
  readonly CPUQuotaPeriodUSec?: bigint;
  readonly MemoryMax?: bigint;
  /** Of cgroup v1. */
  readonly MemoryLimit?: bigint;
  readonly TasksMax?: bigint;
}

/** `infinity` of any amount. */
export const UNLIMITED = 2n ** 64n - 1n;

/** The path of a slice in the cgroup file system: `a-b.slice` is below `a.slice`. The root slice has the empty path. */
export function slicePath(slice: string): string {
  const name = slice.replace(/\.slice$/, '');
  if (name === '-') return '';
  const parts = name.split('-');
  return parts.map((_, index) => `/${parts.slice(0, index + 1).join('-')}.slice`).join('');
}

/** systemd rejected a request, or cannot be reached. */
export class SystemdError extends Error {
  override readonly name = 'SystemdError';
  readonly unit: string;

  constructor(doing: string, unit: string, reason: string, options?: ErrorOptions) {
    super(`cannot ${doing} unit ${unit}: ${reason}`, options);
    this.unit = unit;
  }
}
