import { join } from 'node:path/posix';
import { errorText } from '../../base/error-text.ts';
import { formatTime } from '../../base/rfc3339.ts';
import type { Clock } from '../../host/clock.ts';
import type { FileSystem } from '../../host/file-system.ts';
import { CertificateError, type HeldCertificate, loadCertificate } from './held-certificate.ts';

export interface CertificateStorePaths {
  /** `kubelet-client` or `kubelet-server`. */
  readonly prefix: string;
  readonly folder: string;
  /** Files of the administrator, read while the store is empty. */
  readonly given?: { readonly certificateFile: string; readonly keyFile: string };
}

export interface StoreDeps {
  readonly fs: FileSystem;
  readonly clock: Clock;
}

/**
 * A certificate on disk, in kubelet's layout: `kubelet-client-current.pem` is a link to a file with the certificate and
 * its key, named after the time of its issue. Kubelet and this agent can take over from each other. After a crash
 * either the old or the new one is current.
 */
export class CertificateStore {
  readonly #paths: CertificateStorePaths;
  readonly #deps: StoreDeps;

  constructor(place: CertificateStorePaths, deps: StoreDeps) {
    this.#paths = place;
    this.#deps = deps;
  }

  /** The path of the current certificate, once there is one. */
  get currentPath(): string {
    return this.#path('-current.pem');
  }

  /** Throws a `CertificateError` for invalid files. */
  async current(): Promise<HeldCertificate | undefined> {
    await this.#finishUpdate();
    const { given, prefix, folder } = this.#paths;
    const candidates = [
      [this.currentPath, this.currentPath],
      ...(given ? [[given.certificateFile, given.keyFile] as const] : []),
      [join(folder, `${prefix}.crt`), join(folder, `${prefix}.key`)],
    ] as const;
    for (const [certificate, key] of candidates) {
      const { fs } = this.#deps;
      if ((await fs.stat(certificate)) && (await fs.stat(key))) return this.#load(certificate, key);
    }
    return undefined;
  }

  /** Stores a certificate and makes it the current one. */
  async update(certificate: string, key: string): Promise<HeldCertificate> {
    const { fs, clock } = this.#deps;
    const held = loadCertificate(certificate, key);
    const seconds = formatTime(clock.now()).replaceAll(/[T:]/g, '-').slice(0, -1);
    const path = this.#path(`-${seconds}.pem`);
    await fs.makeDirectory(this.#paths.folder, 0o755);
    await this.#checkLink(this.currentPath);
    if (await this.#checkLink(this.#updatedPath)) await fs.remove(this.#updatedPath);
    await fs.writeAtomic(path, held.certificate + held.key, { mode: 0o600 });
    await fs.symbolicLink(path, this.#updatedPath);
    await fs.rename(this.#updatedPath, this.currentPath);
    return held;
  }

  get #updatedPath(): string {
    return this.#path('-updated.pem');
  }

  #path(rest: string): string {
    return join(this.#paths.folder, `${this.#paths.prefix}${rest}`);
  }

  /** Kubelet removes the old link before it renames the new one: a crash in between leaves only the new one. */
  async #finishUpdate(): Promise<void> {
    const { fs } = this.#deps;
    if (await fs.stat(this.currentPath)) return;
    if (await this.#checkLink(this.#updatedPath)) await fs.rename(this.#updatedPath, this.currentPath);
  }

  /** Returns whether the path exists. Throws if it is not a symlink. */
  async #checkLink(path: string): Promise<boolean> {
    const found = await this.#deps.fs.lstat(path);
    if (found && found.kind !== 'symlink') {
      throw new CertificateError(`expected ${JSON.stringify(path)} to be a symlink but it is a file`);
    }
    return found !== undefined;
  }

  async #load(certificatePath: string, keyPath: string): Promise<HeldCertificate> {
    const { fs } = this.#deps;
    const certificate = await fs.readText(certificatePath);
    const key = certificatePath === keyPath ? certificate : await fs.readText(keyPath);
    try {
      return loadCertificate(certificate, key);
    } catch (error) {
      throw new CertificateError(
        `could not convert data from ${JSON.stringify(certificatePath)} into cert/key pair: ${errorText(error)}`,
        { cause: error },
      );
    }
  }
}
