import { textOf } from '../../../base/text-of.ts';
import type { Clock } from '../../../host/clock.ts';
import { type HttpResponse, NetworkError } from '../../../host/network.ts';
import type { Descriptor } from '../manifest.ts';
import type { HostClient } from './host-client.ts';
import type { HostTurns } from './host-turns.ts';
import { isPassing, RegistryError, SilentError } from './registry-error.ts';
import { SilenceLimit } from './silence-limit.ts';

/** How long a registry may be silent before it counts as gone. */
export const SILENCE_MS = 5 * 60_000;

/** What is told of a transfer. */
export interface BlobWatcher {
  coming(receivedBytes: number): void;
  retrying(receivedBytes: number, reason: string): void;
}

type Blob = Pick<Descriptor, 'digest' | 'size' | 'urls'>;

/**
 * The bytes of a blob, as many as its descriptor says. A transfer that breaks is taken up where it broke, at the same host or
 * the next; a host that cannot begin in the middle sends the beginning again, which is skipped. The digest is not checked:
 * whoever takes the bytes in does that.
 */
export async function* blobBytes(
  turns: HostTurns,
  blob: Blob,
  { clock, watcher }: { readonly clock: Clock; readonly watcher: BlobWatcher },
  signal: AbortSignal,
): AsyncGenerator<Uint8Array, void, void> {
  for (let offset = 0; offset < blob.size; ) {
    const before = offset;
    try {
      for await (const chunk of bytesFrom(turns.host, blob, offset, clock, signal)) {
        offset += chunk.length;
        watcher.coming(offset);
        yield chunk;
      }
      if (offset < blob.size) throw cutOff(blob, offset);
    } catch (error) {
      signal.throwIfAborted();
      watcher.retrying(offset, textOf(error));
      await (offset > before && isPassing(error) ? turns.goOn(signal) : turns.failed(error, signal));
    }
  }
}

async function* bytesFrom(
  host: HostClient,
  blob: Blob,
  offset: number,
  clock: Clock,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array, void, void> {
  using silence = new SilenceLimit(clock, SILENCE_MS);
  try {
    const response = await opened(host, blob, offset, AbortSignal.any([signal, silence.over]));
    let skip = response.status === 206 ? 0 : offset;
    let left = blob.size - offset;
    for await (const chunk of response.body) {
      const rest = chunk.subarray(Math.min(skip, chunk.length));
      skip -= chunk.length - rest.length;
      left -= rest.length;
      if (left < 0)
        throw new RegistryError(0, `${blob.digest} is longer than the ${blob.size} bytes of its descriptor`);
      silence.pause(); // whoever takes the bytes may need its time
      if (rest.length > 0) yield rest;
      silence.begin();
    }
  } catch (error) {
    if (!silence.over.aborted || signal.aborted) throw error;
    throw new SilentError(`nothing more of ${blob.digest} came for ${SILENCE_MS / 60_000} minutes`, { cause: error });
  }
}

/** From the places that the descriptor names, as containerd does it, or else from the host. */
async function opened(host: HostClient, blob: Blob, offset: number, signal: AbortSignal): Promise<HttpResponse> {
  const headers = offset === 0 ? [] : [['Range', `bytes=${offset}-`] as const];
  for (const url of blob.urls) {
    if (!/^https?:\/\//.test(url) || !URL.canParse(url)) continue;
    try {
      return await checkedLength(await host.getElsewhere(new URL(url), headers, signal), blob, offset);
    } catch (error) {
      if (!(error instanceof RegistryError) || error.status !== 404) throw error;
    }
  }
  return checkedLength(await host.get(`blobs/${blob.digest}`, headers, signal), blob, offset);
}

/** Refuses what says itself that it is something else, before any of it is read. */
async function checkedLength(response: HttpResponse, { digest, size }: Blob, offset: number): Promise<HttpResponse> {
  const fault = lengthFault(response, size, offset);
  if (fault === undefined) return response;
  await response.body[Symbol.asyncIterator]().return?.();
  throw new RegistryError(0, `${digest}: ${fault}`);
}

function lengthFault({ status, headers }: HttpResponse, size: number, offset: number): string | undefined {
  const encoding = headers['content-encoding'] ?? 'identity';
  if (encoding !== 'identity') return `is sent in the encoding ${encoding}, which nobody asked for`;
  if (status === 206) {
    const range = headers['content-range'];
    if (range === undefined && offset > 0) return undefined; // it is the one that was asked for, or its digest is wrong
    const [, first, whole = '*'] = /^bytes (\d+)-\d+\/(\d+|\*)$/.exec(range ?? '') ?? [];
    if (Number(first) !== offset) return `another part than from ${offset} on is sent`;
    return whole === '*' || Number(whole) === size ? undefined : `has ${whole} bytes, and ${size} in its descriptor`;
  }
  const length = headers['content-length'];
  return length === undefined || Number(length) === size
    ? undefined
    : `has ${length} bytes, and ${size} in its descriptor`;
}

function cutOff({ digest, size }: Blob, offset: number): NetworkError {
  return new NetworkError('ECONNRESET', `${digest}: only ${offset} of ${size} bytes came`);
}
