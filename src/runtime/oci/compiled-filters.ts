import { createHash } from 'node:crypto';
import type { FileSystem } from '../../host/file-system.ts';
import type { OciSeccomp } from './oci-spec.ts';

/** Seccomp filters as the kernel takes them. libseccomp needs longer for one than all else of a container's start does. */
export interface CompiledFilters {
  /** `undefined`: nobody has compiled it yet. */
  ready(seccomp: OciSeccomp): Promise<Uint8Array | undefined>;
  /** What the runtime itself made of the section. */
  keep(seccomp: OciSeccomp, compiled: Uint8Array): Promise<void>;
}

interface Kept {
  readonly stamp: string;
  /** In base64, by the digest of the section. */
  readonly filters: Readonly<Record<string, string>>;
}

export interface CompiledFiltersDeps {
  readonly path: string;
  /** Another program or another kernel may make another filter of the same section. */
  readonly stamp: string;
  readonly fs: Pick<FileSystem, 'readText' | 'writeReplacing'>;
}

/** A node has a handful of profiles; who makes more has them compiled each time. */
const MAX_FILTERS = 64;
/** struct sock_filter */
const INSTRUCTION_BYTES = 8;

export function createCompiledFilters({ path, stamp, fs }: CompiledFiltersDeps): CompiledFilters {
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
    ready: async (seccomp) => {
      const filter = (await open()).get(digestOf(seccomp));
      return filter === undefined ? undefined : Buffer.from(filter, 'base64');
    },
    keep: async (seccomp, compiled) => {
      if (compiled.byteLength === 0 || compiled.byteLength % INSTRUCTION_BYTES !== 0) return;
      const filters = await open();
      if (filters.size >= MAX_FILTERS) return;
      filters.set(digestOf(seccomp), Buffer.from(compiled).toString('base64'));
      // One after the other, each with all that is known; what cannot be written is compiled again in the next life.
      written = written.then(() => write(filters)).catch(() => {});
      await written;
    },
  };

  function write(filters: ReadonlyMap<string, string>): Promise<void> {
    const kept: Kept = { stamp, filters: Object.fromEntries(filters) };
    return fs.writeReplacing(path, JSON.stringify(kept), { mode: 0o600 });
  }
}

function digestOf(seccomp: OciSeccomp): string {
  return createHash('sha256').update(JSON.stringify(seccomp)).digest('hex');
}

/** We wrote it ourselves; what does not have its shape is as good as none. */
function decode(text: string, stamp: string): Kept['filters'] {
  try {
    const value = JSON.parse(text) as Partial<Kept> | null; // written by `keep`, replaced as a whole
    return value?.stamp === stamp && typeof value.filters === 'object' ? value.filters : {};
  } catch {
    return {};
  }
}
