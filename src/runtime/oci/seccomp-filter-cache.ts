import { createHash } from 'node:crypto';
import type { FileSystem } from '../../host/file-system.ts';
import type { OciSeccomp } from './oci-spec.ts';

/** Caches compiled seccomp filters. Compiling one with libseccomp takes longer than the rest of a container's start. */
export interface SeccompFilterCache {
  /** Returns `undefined` if the section has not been compiled yet. */
  get(seccomp: OciSeccomp): Promise<Uint8Array | undefined>;
  /** Stores the filter that the runtime compiled from the section. */
  put(seccomp: OciSeccomp, compiled: Uint8Array): Promise<void>;
}

interface CacheFile {
  readonly stamp: string;
  /** Filters in base64, by the digest of the section. */
  readonly filters: Readonly<Record<string, string>>;
}

export interface SeccompFilterCacheDeps {
  readonly path: string;
  /** Identifies the program and the kernel: others may compile a different filter. */
  readonly stamp: string;
  readonly fs: Pick<FileSystem, 'readText' | 'writeReplacing'>;
}

/** A node has a handful of profiles; further ones are compiled each time. */
const MAX_FILTERS = 64;
/** struct sock_filter */
const INSTRUCTION_BYTES = 8;

export function createSeccompFilterCache({ path, stamp, fs }: SeccompFilterCacheDeps): SeccompFilterCache {
  let opened: Promise<Map<string, string>> | undefined;
  const open = (): Promise<Map<string, string>> => {
    opened ??= fs.readText(path).then(
      (text) => new Map(Object.entries(decode(text, stamp))),
      () => new Map(),
    );
    return opened;
  };
  let written: Promise<void> = Promise.resolve();
  return {
    get: async (seccomp) => {
      const filter = (await open()).get(sectionDigest(seccomp));
      return filter === undefined ? undefined : Buffer.from(filter, 'base64');
    },
    put: async (seccomp, compiled) => {
      if (compiled.byteLength === 0 || compiled.byteLength % INSTRUCTION_BYTES !== 0) return;
      const filters = await open();
      if (filters.size >= MAX_FILTERS) return;
      filters.set(sectionDigest(seccomp), Buffer.from(compiled).toString('base64'));
      // Serialized, each write with all filters. A filter that cannot be written is compiled again by the next process.
      written = written.then(() => write(filters)).catch(() => {});
      await written;
    },
  };

  function write(filters: ReadonlyMap<string, string>): Promise<void> {
    const file: CacheFile = { stamp, filters: Object.fromEntries(filters) };
    return fs.writeReplacing(path, JSON.stringify(file), { mode: 0o600 });
  }
}

function sectionDigest(seccomp: OciSeccomp): string {
  return createHash('sha256').update(JSON.stringify(seccomp)).digest('hex');
}

/** A file with another shape counts as empty. */
function decode(text: string, stamp: string): CacheFile['filters'] {
  try {
    const value = JSON.parse(text) as Partial<CacheFile> | null; // written by `keep`, replaced as a whole
    return value?.stamp === stamp && typeof value.filters === 'object' ? value.filters : {};
  } catch {
    return {};
  }
}
