import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { errorText } from '../../base/error-text.ts';
import type { FileSystem } from '../../host/file-system.ts';
import type { ServerResponse } from '../../host/network.ts';
import type { Profiler, SampledStacks } from '../../host/profiler.ts';
import type { TlsRequest } from '../../host/tls-server.ts';
import { pprofProfile, type ValueType } from './profiling/pprof-profile.ts';
import { profileText } from './profiling/profile-text.ts';
import { LINE_HEADERS, NO_SNIFFING } from './responses.ts';

export interface ProfileDeps {
  readonly profiler: Profiler;
  readonly fs: Pick<FileSystem, 'readText'>;
}

const CPU_SECONDS = 30;
/** Nothing is sampled between requests, so a heap profile is one of the next seconds. */
const HEAP_SECONDS = 5;
/** A longer profile would only use memory. */
const MAX_SECONDS = 3600;

const SAMPLES: ValueType = { type: 'samples', unit: 'count' };
const CPU: ValueType = { type: 'cpu', unit: 'nanoseconds' };
const HEAP_KINDS: Readonly<Record<string, { readonly kind: 'live' | 'all'; readonly amount: ValueType }>> = {
  heap: { kind: 'live', amount: { type: 'inuse_space', unit: 'bytes' } },
  allocs: { kind: 'all', amount: { type: 'alloc_space', unit: 'bytes' } },
};

/** `/debug/pprof/NAME`, in the formats and with the errors of Go's `net/http/pprof`. */
export async function serveProfile(
  deps: ProfileDeps,
  name: string,
  { query, signal }: Pick<TlsRequest, 'query' | 'signal'>,
): Promise<ServerResponse> {
  switch (name) {
    case 'profile':
      return serveCpuProfile(deps, query, signal);
    case 'cmdline':
      return {
        status: 200,
        headers: LINE_HEADERS,
        body: (await deps.fs.readText('/proc/self/cmdline')).replace(/\0$/, ''),
      };
    case 'symbol':
      // Profiles have their functions in them: there are no addresses to look up.
      return { status: 200, headers: LINE_HEADERS, body: 'num_symbols: 0\n' };
    case 'trace':
      return profileError(500, 'Could not enable tracing: execution traces are those of the Go runtime');
    default: {
      const heap = HEAP_KINDS[name];
      return heap ? serveHeapProfile(deps, name, heap, query, signal) : profileError(404, 'Unknown profile');
    }
  }
}

async function serveCpuProfile(
  { profiler }: ProfileDeps,
  query: URLSearchParams,
  signal: AbortSignal,
): Promise<ServerResponse> {
  const seconds = positiveInteger(query.get('seconds')) ?? CPU_SECONDS;
  if (seconds > MAX_SECONDS) return tooLong();
  try {
    return await attachment('profile', pprofProfile(await profiler.cpu(1000 * seconds, signal), SAMPLES, CPU));
  } catch (error) {
    return profileError(500, `Could not enable CPU profiling: ${errorText(error)}`);
  }
}

async function serveHeapProfile(
  { profiler }: ProfileDeps,
  name: string,
  { kind, amount }: { readonly kind: 'live' | 'all'; readonly amount: ValueType },
  query: URLSearchParams,
  signal: AbortSignal,
): Promise<ServerResponse> {
  const asked = query.get('seconds') || undefined;
  const seconds = asked === undefined ? HEAP_SECONDS : positiveInteger(asked);
  if (seconds === undefined) return profileError(400, 'invalid value for "seconds" - must be a positive integer');
  if (seconds > MAX_SECONDS) return tooLong();
  const isText = (Number(query.get('debug')) || 0) !== 0;
  if (isText && asked !== undefined) return profileError(400, 'seconds and debug params are incompatible');
  let stacks: SampledStacks;
  try {
    stacks = await profiler.heap(kind, 1000 * seconds, signal);
  } catch (error) {
    return profileError(500, `failed to collect profile: ${errorText(error)}`);
  }
  if (isText) return { status: 200, headers: LINE_HEADERS, body: profileText(`${name} profile`, stacks) };
  return attachment(asked === undefined ? name : `${name}-delta`, pprofProfile(stacks, SAMPLES, amount));
}

function positiveInteger(text: string | null): number | undefined {
  return text !== null && /^\+?\d+$/.test(text) && Number(text) > 0 ? Number(text) : undefined;
}

function tooLong(): ServerResponse {
  return profileError(400, `profile duration exceeds ${MAX_SECONDS} seconds`);
}

function profileError(status: number, text: string): ServerResponse {
  return { status, headers: { ...LINE_HEADERS, 'x-go-pprof': '1' }, body: `${text}\n` };
}

async function attachment(name: string, profile: Uint8Array): Promise<ServerResponse> {
  const compressed = await promisify(gzip)(profile);
  const headers = {
    ...NO_SNIFFING,
    'content-type': 'application/octet-stream',
    'content-disposition': `attachment; filename="${name}"`,
    'content-length': String(compressed.length),
  };
  return { status: 200, headers, body: oneChunk(compressed) };
}

async function* oneChunk(bytes: Uint8Array): AsyncGenerator<Uint8Array, void, void> {
  yield bytes;
}
