import { NamespaceError, type NamespaceFiles, type Namespaces, type NewNamespaces } from '../namespaces.ts';
import { Errno } from './errno.ts';
import { ErrorInjector } from './error-injector.ts';
import type { MemoryFileSystem } from './memory-file-system.ts';
import type { MemoryMounts } from './memory-mounts.ts';

/** A pinned namespace as tests see it. */
export interface PinnedNamespace {
  readonly hostname?: string;
  readonly sysctls?: Readonly<Record<string, string>>;
  /** Of `pin`. */
  readonly pid?: number;
}

/** Namespaces that are pinned by files of an in-memory filesystem: each is a mount of `nsfs`. Every pid exists. */
export class MemoryNamespaces implements Namespaces {
  /** `errors.failNext('create', 'ENOSPC')`; the subject is the first file, or the path of a `sysctl`. */
  readonly errors = new ErrorInjector<'create' | 'pin' | 'remove' | 'sysctl'>();
  readonly #fs: MemoryFileSystem;
  readonly #mounts: MemoryMounts;
  readonly #pinned = new Map<string, PinnedNamespace>();

  constructor(fs: MemoryFileSystem, mounts: MemoryMounts) {
    this.#fs = fs;
    this.#mounts = mounts;
  }

  /** By file. A file that was unmounted elsewhere is left out. */
  async pinned(): Promise<ReadonlyMap<string, PinnedNamespace>> {
    const mounted = new Set((await this.#mounts.list()).map(({ target }) => target));
    return new Map([...this.#pinned].filter(([file]) => mounted.has(file)));
  }

  async create({ files, hostname, sysctls = [] }: NewNamespaces): Promise<void> {
    this.#throwInjected('create', files);
    for (const [path] of sysctls) {
      const code = this.errors.take('sysctl', path);
      if (code) throw new NamespaceError(code, `sysctl ${path}`, { sysctl: path });
    }
    await this.#pin(files, {
      ...(hostname === undefined ? {} : { hostname }),
      ...(sysctls.length === 0 ? {} : { sysctls: Object.fromEntries(sysctls) }),
    });
  }

  async pin(pid: number, files: NamespaceFiles): Promise<void> {
    this.#throwInjected('pin', files);
    await this.#pin(files, { pid });
  }

  async remove(files: readonly string[]): Promise<void> {
    for (const file of files) {
      const code = this.errors.take('remove', file);
      if (code) throw new NamespaceError(code, `remove ${file}`);
      await this.#mounts.unmount(file, { lazy: true });
      await this.#fs.remove(file);
      this.#pinned.delete(file);
    }
  }

  async warmUp(): Promise<void> {}

  async #pin(files: NamespaceFiles, namespace: PinnedNamespace): Promise<void> {
    const created: string[] = [];
    try {
      for (const file of Object.values(files)) {
        if (await this.#fs.lstat(file)) throw new NamespaceError('EEXIST', `create ${file}`);
        this.#mountAt(file);
        created.push(file);
        this.#pinned.set(file, namespace);
      }
    } catch (error) {
      await this.remove(created);
      throw error;
    }
  }

  /** Creates the file and its mount in one step, so that no reader sees one without the other. */
  #mountAt(file: string): void {
    const { tree } = this.#fs;
    try {
      const { folder, name, mount, path } = tree.locate(file, false);
      if (folder === undefined) throw new Errno('EEXIST');
      folder.entries.set(name, tree.create({ kind: 'file', mode: 0o444, bytes: new Uint8Array() }, folder.device));
      const root = tree.create({ kind: 'file', mode: 0o444, bytes: new Uint8Array() }, folder.device);
      tree.addMount({ source: 'nsfs', target: path, type: 'nsfs', readOnly: false }, root, mount);
    } catch (error) {
      if (error instanceof Errno) throw new NamespaceError(error.code, `create ${file}`, { cause: error });
      throw error;
    }
  }

  #throwInjected(operation: 'create' | 'pin', files: NamespaceFiles): void {
    const code = this.errors.take(operation, Object.values(files)[0] ?? '');
    if (code) throw new NamespaceError(code, operation);
  }
}
