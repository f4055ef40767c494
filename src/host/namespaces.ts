/**
 * Namespaces of the kernel that are held by files instead of processes: whoever opens such a file can join. System calls on
 * a thread of our own, never a process.
 */
export interface Namespaces {
  /**
   * Makes a new namespace of each kind that has a file, all or none. The loopback of a new network is up. The folders of
   * the files exist, the files do not. Rejects with a `NamespaceError`; then nothing is left.
   */
  create(request: NewNamespaces): Promise<void>;

  /**
   * Holds the namespaces of a process, also after its end. The loopback of its network is brought up. Rejects with a
   * `NamespaceError`; then nothing is left.
   */
  pin(pid: number, files: NamespaceFiles): Promise<void>;

  /** Lets go of what is held by these files, and removes them. A missing one is fine, also one that holds nothing. */
  remove(files: readonly string[]): Promise<void>;

  /** The first use takes longer; who knows that there will be one may have that done before. Never rejects. */
  warmUp(): Promise<void>;
}

export type NamespaceKind = 'network' | 'ipc' | 'uts' | 'pid' | 'user';

/** The kinds that need no process. */
export type ProcesslessKind = Exclude<NamespaceKind, 'pid' | 'user'>;

export type NamespaceFiles = Readonly<Partial<Record<NamespaceKind, string>>>;

export interface NewNamespaces {
  readonly files: Readonly<Partial<Record<ProcesslessKind, string>>>;
  /** Of the new `uts`; absent: as ours. */
  readonly hostname?: string;
  /**
   * By their path below /proc/sys (`net/ipv4/ip_forward`), in this order. The caller makes sure that each belongs to one of
   * the new namespaces: others are the machine's.
   */
  readonly sysctls?: ReadonlyArray<readonly [path: string, value: string]>;
}

export class NamespaceError extends Error {
  override readonly name = 'NamespaceError';
  /** `EINVAL`, `ENOENT`, … */
  readonly code: string;
  /** The path of the one that the kernel did not take. */
  readonly sysctl: string | undefined;

  constructor(code: string, what: string, options: ErrorOptions & { readonly sysctl?: string } = {}) {
    super(`${what}: ${code}`, options);
    this.code = code;
    this.sysctl = options.sysctl;
  }
}
