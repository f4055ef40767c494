import { errorText } from '../../base/error-text.ts';
import { ExponentialBackoff } from '../../base/exponential-backoff.ts';
import { type Log, silentLog } from '../../base/log.ts';
import type { Clock } from '../../host/clock.ts';
import type { Network } from '../../host/network.ts';
import type { Random } from '../../host/random.ts';
import { fetchManifest, type ManifestResponse } from './fetch-manifest.ts';
import { parseStaticPods, type StaticReferences } from './parse-static-pods.ts';
import type { PodSource, SourceSnapshot } from './pod-source.ts';
import { retainLastGood } from './retain-last-good.ts';

/** Retry delays as fractions of the period: short after the first error, longer while errors persist. */
const FIRST_RETRY = 1 / 16;
const LAST_RETRY = 2;
const RETRY_JITTER = 0.5;

export interface HttpSourceOptions {
  /** Serves a pod or a list of pods in JSON or YAML. */
  readonly url: string;
  /** `staticPodURLHeader`: sent with each request. */
  readonly headers: Readonly<Record<string, readonly string[]>>;
  readonly nodeName: string;
  /** `httpCheckFrequency`. */
  readonly periodMs: number;
  /** Absent: `none`. */
  readonly references?: Exclude<StaticReferences, 'manifests'>;
}

export interface HttpSourceDeps {
  readonly network: Network;
  readonly clock: Clock;
  readonly random: Random;
  readonly log?: Log;
}

/** The content of the URL when it was last read successfully. */
interface Reading extends SourceSnapshot {
  readonly text: string;
  readonly etag: string | undefined;
}

const NOTHING: Reading = { text: '', etag: undefined, pods: [], errors: [] };

/**
 * Pods from a URL that is polled.
 *
 * 1. No snapshot before the first response. An empty response is an error, but makes the source ready.
 * 2. Errors do not remove pods: the last good pods stay desired, and the snapshot contains the error.
 * 3. Unchanged text makes no new snapshot. If the server sends an `ETag`, requests are conditional.
 */
export function createHttpSource(options: HttpSourceOptions, deps: HttpSourceDeps): PodSource {
  const memory: Memory = { reading: undefined };
  return { name: 'http', snapshots: (signal) => snapshots(options, memory, deps, signal) };
}

/** What was read last. A restarted source keeps the last good pods too. */
interface Memory {
  reading: Reading | undefined;
}

async function* snapshots(
  options: HttpSourceOptions,
  memory: Memory,
  deps: HttpSourceDeps,
  signal: AbortSignal,
): AsyncGenerator<SourceSnapshot> {
  const { clock, random } = deps;
  const { periodMs } = options;
  const backoff = new ExponentialBackoff({
    firstMs: periodMs * FIRST_RETRY,
    maxMs: periodMs * LAST_RETRY,
    jitter: RETRY_JITTER,
  });
  let failure: string | undefined;
  let sent: string | undefined;
  while (!signal.aborted) {
    const result = await readAgain(options, memory.reading, deps, signal);
    if (signal.aborted) return;
    if (memory.reading === undefined) logFailure(options, deps, failure, result.failure);
    const { reading } = result;
    memory.reading = reading;
    failure = result.failure;
    if (failure === undefined) backoff.reset();
    const snapshot = reading && makeSnapshot(options, reading, failure);
    const state = snapshot && JSON.stringify(snapshot);
    if (snapshot && state !== sent) yield snapshot;
    sent = state;
    const waitMs = failure === undefined ? periodMs : backoff.next(random.fraction());
    await clock.sleep(waitMs, signal).catch(() => undefined);
  }
}

interface ReadResult {
  readonly reading: Reading | undefined;
  readonly failure: string | undefined;
}

async function readAgain(
  { url, headers, nodeName, references = 'none' }: HttpSourceOptions,
  before: Reading | undefined,
  deps: HttpSourceDeps,
  signal: AbortSignal,
): Promise<ReadResult> {
  const sent = Object.entries(headers).flatMap(([name, values]) => values.map((value) => [name, value] as const));
  let answer: ManifestResponse;
  try {
    answer = await fetchManifest({ url, headers: sent, etag: before?.etag }, deps, signal);
  } catch (error) {
    return { reading: before, failure: errorText(error) };
  }
  if (answer.kind === 'unchanged') return { reading: before, failure: undefined };
  const { text, etag } = answer;
  if (text.trim() === '')
    return { reading: { ...NOTHING, ...before, etag: undefined }, failure: 'the response is empty' };
  if (before?.text === text) return { reading: { ...before, etag }, failure: undefined };
  const origin = { source: 'http', location: redactUrl(url), nodeName, references, nowMs: deps.clock.now() } as const;
  const { pods, errors } = retainLastGood(before, parseStaticPods(text, origin));
  return { reading: { text, etag, pods, errors }, failure: undefined };
}

function makeSnapshot({ url }: HttpSourceOptions, reading: Reading, failure: string | undefined): SourceSnapshot {
  const { pods, errors } = reading;
  return {
    pods,
    errors: failure === undefined ? errors : [...errors, { location: redactUrl(url), message: failure }],
  };
}

/** Logs errors before the first snapshot; later ones are part of the snapshot. */
function logFailure(
  { url }: HttpSourceOptions,
  { log = silentLog }: HttpSourceDeps,
  before: string | undefined,
  now: string | undefined,
): void {
  if (now === undefined) return;
  const level = now === before ? 'debug' : 'warn';
  log[level]('cannot read pods from the URL, will retry', { url: redactUrl(url), error: now });
}

/** The URL without credentials. */
function redactUrl(url: string): string {
  return url.replace(/\/\/[^/]*@/, '//');
}
