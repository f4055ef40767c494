import { dirname } from 'node:path/posix';
import { LatestOnly } from '../../base/latest-only.ts';
import type { Log } from '../../base/log.ts';
import type { FileSystem } from '../../host/file-system.ts';
import { type HeldCertificate, holdCertificate } from './held-certificate.ts';
import { Listeners } from './listeners.ts';
import type { ServingCertificate } from './serving-certificate.ts';

export interface ServedFilesPlace {
  readonly certificateFile: string;
  readonly keyFile: string;
}

export interface ServedFilesDeps {
  readonly fs: FileSystem;
  readonly log: Log;
}

/** A serving certificate in two files of somebody else, who may replace them: while they do not fit the old ones hold. */
export class ServedFiles implements ServingCertificate {
  readonly #place: ServedFilesPlace;
  readonly #deps: ServedFilesDeps;
  readonly #listeners = new Listeners();
  /** One look at a time: an older one never has the last word. */
  readonly #looks = new LatestOnly<void>(() => this.#look());
  #held: HeldCertificate | undefined;

  constructor(place: ServedFilesPlace, deps: ServedFilesDeps) {
    this.#place = place;
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

  /** Follows the files until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    const { certificateFile, keyFile } = this.#place;
    // Of the folders, for the files may be links, which are replaced by others.
    const folders = new Set([dirname(certificateFile), dirname(keyFile)]);
    await Promise.all([...folders].map((folder) => this.#follow(folder, signal)));
  }

  async #follow(folder: string, signal: AbortSignal): Promise<void> {
    const { fs, log } = this.#deps;
    try {
      for await (const _ of fs.watch(folder, signal)) this.#looks.offer();
    } catch (error) {
      if (!signal.aborted) log.error('cannot follow the files of the serving certificate any more', { folder, error });
    }
  }

  async #look(): Promise<void> {
    const { log } = this.#deps;
    try {
      const next = await this.#read();
      if (next.certificate === this.#held?.certificate && next.key === this.#held.key) return;
      this.#held = next;
      log.info('the serving certificate has changed', { ...this.#place });
      this.#listeners.tell();
    } catch (error) {
      log.warn('cannot use the files of the serving certificate, the old one is kept', { ...this.#place, error });
    }
  }

  async #read(): Promise<HeldCertificate> {
    const { fs } = this.#deps;
    const { certificateFile, keyFile } = this.#place;
    return holdCertificate(await fs.readText(certificateFile), await fs.readText(keyFile));
  }
}
