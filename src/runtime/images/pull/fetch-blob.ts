import { errorText } from '../../../base/error-text.ts';
import type { Clock } from '../../../host/clock.ts';
import { type HttpResponse, NetworkError } from '../../../host/network.ts';
import type { Descriptor } from '../manifest.ts';
import type { HostClient } from './host-client.ts';
import { IdleTimeout } from './idle-timeout.ts';
import { MINIMUM_BYTES_PER_SECOND, MinimumRate } from './minimum-rate.ts';
import type { MirrorFailover } from './mirror-failover.ts';
import { IdleTimeoutError, isTransient, RegistryError, SlowTransferError } from './registry-error.ts';

/** How long a registry may send nothing before the transfer fails. */
export const IDLE_TIMEOUT_MS = 5 * 60_000;

/** Receives the progress of a transfer. */
export interface BlobProgress {
  received(receivedBytes: number): void;
  retrying(receivedBytes: number, reason: string): void;
}

type Blob = Pick<Descriptor, 'digest' | 'size' | 'urls'>;

interface TransferDeps {
  readonly clock: Clock;
  readonly progress: BlobProgress;
}

/**
 * Streams the bytes of a blob, as many as its descriptor says. A broken transfer is resumed at the same host or the
 * next; if the host ignores the range, the bytes already received are skipped. A host below the minimum rate is given
 * up. The consumer verifies the digest.
 */
export async function* fetchBlob(
  failover: MirrorFailover,
  blob: Blob,
  deps: TransferDeps,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array, void, void> {
  for (let offset = 0; offset < blob.size; ) {
    const ended = yield* fetchFromHost(failover, blob, offset, deps, signal);
    offset = ended.offset;
    if ('error' in ended) await failover.failOver(ended.error, signal);
  }
}

/** Fetches from one host until the blob is complete or the host fails without progress. */
async function* fetchFromHost(
  failover: MirrorFailover,
  blob: Blob,
  start: number,
  { clock, progress }: TransferDeps,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array, { readonly offset: number; readonly error?: unknown }, void> {
  const { host } = failover;
  using rate = new MinimumRate(clock); // over all connections to the host
  let offset = start;
  for (;;) {
    const before = offset;
    try {
      for await (const chunk of fetchRange(host, blob, offset, { clock, rate }, signal)) {
        offset += chunk.length;
        progress.received(offset);
        yield chunk;
      }
      if (offset >= blob.size) return { offset };
      throw truncatedError(blob, offset);
    } catch (caught) {
      signal.throwIfAborted();
      const error = rate.signal.aborted ? slowError(host, blob, offset, rate, caught) : caught;
      progress.retrying(offset, errorText(error));
      if (offset === before || !isTransient(error) || error instanceof SlowTransferError) return { offset, error };
      await failover.resume(signal);
    }
  }
}

async function* fetchRange(
  host: HostClient,
  blob: Blob,
  offset: number,
  { clock, rate }: { readonly clock: Clock; readonly rate: MinimumRate },
  signal: AbortSignal,
): AsyncGenerator<Uint8Array, void, void> {
  using idle = new IdleTimeout(clock, IDLE_TIMEOUT_MS);
  try {
    const response = await openBlob(host, blob, offset, AbortSignal.any([signal, idle.signal, rate.signal]));
    let skip = response.status === 206 ? 0 : offset;
    let left = blob.size - offset;
    for await (const chunk of response.body) {
      rate.received(chunk.length);
      const rest = chunk.subarray(Math.min(skip, chunk.length));
      skip -= chunk.length - rest.length;
      left -= rest.length;
      if (left < 0)
        throw new RegistryError(0, `${blob.digest} is longer than the ${blob.size} bytes of its descriptor`);
      idle.pause(); // the consumer's time does not count
      rate.pause();
      if (rest.length > 0) yield rest;
      idle.restart();
      rate.resume();
    }
  } catch (error) {
    if (!idle.signal.aborted || rate.signal.aborted || signal.aborted) throw error;
    throw new IdleTimeoutError(`no data of ${blob.digest} received for ${IDLE_TIMEOUT_MS / 60_000} minutes`, {
      cause: error,
    });
  }
}

function slowError(host: HostClient, { digest, size }: Blob, offset: number, rate: MinimumRate, cause: unknown): Error {
  const seconds = Math.round(rate.elapsedMs / 1000);
  const received = `received ${offset} of ${size} bytes, ${rate.receivedBytes} bytes in ${seconds} seconds from this host`;
  return new SlowTransferError(
    `${host.url}: layer ${digest}: ${received}, less than ${MINIMUM_BYTES_PER_SECOND} bytes per second`,
    { cause },
  );
}

/** Fetches from the descriptor's URLs first, as containerd does, else from the host. */
async function openBlob(host: HostClient, blob: Blob, offset: number, signal: AbortSignal): Promise<HttpResponse> {
  const headers = offset === 0 ? [] : [['Range', `bytes=${offset}-`] as const];
  for (const url of blob.urls) {
    if (!/^https?:\/\//.test(url) || !URL.canParse(url)) continue;
    try {
      return await checkLength(await host.getFromUrl(new URL(url), headers, signal), blob, offset);
    } catch (error) {
      if (!(error instanceof RegistryError) || error.status !== 404) throw error;
    }
  }
  return checkLength(await host.get(`blobs/${blob.digest}`, headers, signal), blob, offset);
}

/** Rejects a response whose headers contradict the descriptor, before its body is read. */
async function checkLength(response: HttpResponse, { digest, size }: Blob, offset: number): Promise<HttpResponse> {
  const mismatch = lengthMismatch(response, size, offset);
  if (mismatch === undefined) return response;
  await response.body[Symbol.asyncIterator]().return?.();
  throw new RegistryError(0, `${digest}: ${mismatch}`);
}

function lengthMismatch({ status, headers }: HttpResponse, size: number, offset: number): string | undefined {
  const encoding = headers['content-encoding'] ?? 'identity';
  if (encoding !== 'identity') return `unsolicited content encoding ${encoding}`;
  if (status === 206) {
    const range = headers['content-range'];
    if (range === undefined && offset > 0) return undefined; // the requested range, or the digest will not match
    const [, first, whole = '*'] = /^bytes (\d+)-\d+\/(\d+|\*)$/.exec(range ?? '') ?? [];
    if (Number(first) !== offset) return `response does not start at byte ${offset}`;
    return whole === '*' || Number(whole) === size ? undefined : `has ${whole} bytes, expected ${size}`;
  }
  const length = headers['content-length'];
  return length === undefined || Number(length) === size ? undefined : `has ${length} bytes, expected ${size}`;
}

function truncatedError({ digest, size }: Blob, offset: number): NetworkError {
  return new NetworkError('ECONNRESET', `${digest}: received only ${offset} of ${size} bytes`);
}
