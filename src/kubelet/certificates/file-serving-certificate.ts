import { dirname } from 'node:path/posix';
import { LatestOnly } from '../../base/latest-only.ts';
import type { Log } from '../../base/log.ts';
import type { FileSystem } from '../../host/file-system.ts';
import { type HeldCertificate, loadCertificate } from './held-certificate.ts';
import { Listeners } from './listeners.ts';
import type { ServingCertificate } from './serving-certificate.ts';

export interface CertificateFiles {
  readonly certificateFile: string;
  readonly keyFile: string;
}

export interface FileServingCertificateDeps {
  readonly fs: FileSystem;
  readonly log: Log;
}

/**
 * A serving certificate in two files of the administrator, who may replace them. While they do not match, the old
 * certificate is used.
 */
export class FileServingCertificate implements ServingCertificate {
  readonly #files: CertificateFiles;
  readonly #deps: FileServingCertificateDeps;
  readonly #listeners = new Listeners();
  /** One reload at a time, so that an older one never overwrites a newer one. */
  readonly #reloads = new LatestOnly<void>(
    () => this.#reload(),
    (error) => this.#deps.log.error('cannot reload the serving certificate', { error }),
  );
  #held: HeldCertificate | undefined;

  constructor(place: CertificateFiles, deps: FileServingCertificateDeps) {
    this.#files = place;
    this.#deps = deps;
  }

  /** Rejects with a `CertificateError` or a `FileSystemError`. */
  async load(): Promise<void> {
    this.#held = await this.#read();
  }

  current(): HeldCertificate | undefined {
    return this.#held;
  }

  subscribe(listener: () => void): () => void {
    return this.#listeners.add(listener);
  }

  /** Watches the files until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    const { certificateFile, keyFile } = this.#files;
    // The directories are watched, because the files may be symlinks that are replaced.
    const folders = new Set([dirname(certificateFile), dirname(keyFile)]);
    await Promise.all([...folders].map((folder) => this.#watch(folder, signal)));
  }

  async #watch(folder: string, signal: AbortSignal): Promise<void> {
    const { fs, log } = this.#deps;
    try {
      for await (const _ of fs.watch(folder, signal)) this.#reloads.offer();
    } catch (error) {
      if (!signal.aborted) log.error('cannot watch the files of the serving certificate any more', { folder, error });
    }
  }

  async #reload(): Promise<void> {
    const { log } = this.#deps;
    try {
      const next = await this.#read();
      if (next.certificate === this.#held?.certificate && next.key === this.#held.key) return;
      this.#held = next;
      log.info('the serving certificate has changed', { ...this.#files });
      this.#listeners.notify();
    } catch (error) {
      log.warn('cannot load the files of the serving certificate, keeping the old one', { ...this.#files, error });
    }
  }

  async #read(): Promise<HeldCertificate> {
    const { fs } = this.#deps;
    const { certificateFile, keyFile } = this.#files;
    return loadCertificate(await fs.readText(certificateFile), await fs.readText(keyFile));
  }
}
