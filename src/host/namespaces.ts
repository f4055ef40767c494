/**
 * Kernel namespaces that are pinned by bind-mounted files instead of processes: a process that opens such a file can join.
 * By system calls on a separate thread, never by a process.
 */
export interface Namespaces {
  /**
   * Creates a namespace of each kind that has a file, all or none. The loopback of a new network is up. The folders of the
   * files must exist, the files must not. Rejects with a `NamespaceError`, and leaves nothing behind.
   */
  create(request: NewNamespaces): Promise<void>;

  /**
   * Pins the namespaces of a process, so that they outlive it. The loopback of its network is brought up. Rejects with a
   * `NamespaceError`, and leaves nothing behind.
   */
  pin(pid: number, files: NamespaceFiles): Promise<void>;

  /** Unpins and removes the files. A missing file, or one without a namespace, is not an error. */
  remove(files: readonly string[]): Promise<void>;

  /** Does the slow part of the first use ahead of time. Never rejects. */
  warmUp(): Promise<void>;
}

export type NamespaceKind = 'network' | 'ipc' | 'uts' | 'pid' | 'user';

/** The kinds that can be created without a process. */
export type ProcesslessKind = Exclude<NamespaceKind, 'pid' | 'user'>;

export type NamespaceFiles = Readonly<Partial<Record<NamespaceKind, string>>>;

export interface NewNamespaces {
  readonly files: Readonly<Partial<Record<ProcesslessKind, string>>>;
  /** The hostname of the new `uts` namespace; absent: the machine's. */
  readonly hostname?: string;
  /**
   * Paths below /proc/sys (`net/ipv4/ip_forward`), written in this order. The caller ensures that each is namespaced by one
   * of the new namespaces: others would change the machine.
   */
  readonly sysctls?: ReadonlyArray<readonly [path: string, value: string]>;
}

export class NamespaceError extends Error {
  override readonly name = 'NamespaceError';
  /** `EINVAL`, `ENOENT`, … */
  readonly code: string;
  /** The path of the sysctl that the kernel rejected. */
  readonly sysctl: string | undefined;

  constructor(code: string, what: string, options: ErrorOptions & { readonly sysctl?: string } = {}) {
    super(`${what}: ${code}`, options);
    this.code = code;
    this.sysctl = options.sysctl;
  }
}
