import type { Pod } from '../../api/generated/core-v1.ts';
import { CONFIG_SEEN, CONFIG_SOURCE, podFullName } from '../../api/pod-names.ts';
import { ChangeBell } from '../../base/change-bell.ts';
import { GrowingPause } from '../../base/growing-pause.ts';
import { formatNanoTime } from '../../base/rfc3339.ts';
import type { Clock } from '../../host/clock.ts';
import type { Random } from '../../host/random.ts';
import { ApiError, type ApiServer, type Selection, type WatchEvent } from '../cluster/api-server.ts';
import { isApiError } from '../cluster/is-api-error.ts';
import type { Log } from '../explain/log.ts';
import type { PodSource, SourceSnapshot } from './pod-source.ts';

/** As client-go's reflector. */
const RETRY = { firstMs: 800, maxMs: 30_000, jitter: 1 };
/** A watch that ends sooner, without a word, is a failure. */
const SHORTEST_WATCH_MS = 1_000;

export interface ApiSourceOptions {
  readonly nodeName: string;
}

export interface ApiSourceDeps {
  readonly api: ApiServer;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}

/**
 * The pods that the API server has for this node, mirror pods among them.
 *
 * 1. The first snapshot follows the first complete list. While the server cannot be reached nothing is told: what was
 *    known last stays wanted.
 * 2. A watch that ends goes on where it was; the pods are listed again only when the server has forgotten that place.
 * 3. Changes that come together make one snapshot. A pod that has not changed is the same object in the next one.
 * 4. Older pods come first: they have the better right to the node.
 */
export function createApiSource({ nodeName }: ApiSourceOptions, deps: ApiSourceDeps): PodSource {
  return { name: 'api', snapshots: (signal) => new PodFollower(nodeName, deps).snapshots(signal) };
}

class PodFollower {
  readonly #deps: ApiSourceDeps;
  readonly #selection: Selection<'pods'>;
  readonly #pause = new GrowingPause(RETRY);
  readonly #bell = new ChangeBell();
  #pods: ReadonlyMap<string, Pod> = new Map();
  /** From which a watch can go on; nothing when the pods have to be listed. */
  #version: string | undefined;

  constructor(nodeName: string, deps: ApiSourceDeps) {
    this.#deps = deps;
    this.#selection = { resource: 'pods', fieldSelector: `spec.nodeName=${nodeName}` };
  }

  async *snapshots(signal: AbortSignal): AsyncGenerator<SourceSnapshot> {
    const left = new AbortController();
    const until = AbortSignal.any([signal, left.signal]);
    until.addEventListener('abort', () => this.#bell.silence(), { once: true });
    const following = this.#follow(until);
    let told: ReadonlyMap<string, Pod> | undefined;
    try {
      while (!until.aborted && (await this.#bell.heard())) {
        // A turn of the event loop: what came with it is told with it.
        await this.#deps.clock.sleep(0, until).catch(() => undefined);
        if (until.aborted || this.#pods === told) continue;
        told = this.#pods;
        yield { pods: [...told.values()].toSorted(byAge), problems: [] };
      }
    } finally {
      left.abort();
      await following;
    }
  }

  async #follow(signal: AbortSignal): Promise<void> {
    const { clock, random, log } = this.#deps;
    while (!signal.aborted) {
      try {
        await this.#listAndWatch(signal);
      } catch (error) {
        if (signal.aborted) return;
        log.warn('cannot follow the pods of the API server, will try again', { error });
        const asked = error instanceof ApiError ? (error.retryAfterMs ?? 0) : 0;
        const waitMs = Math.max(asked, this.#pause.next(random.fraction()));
        await clock.sleep(waitMs, signal).catch(() => undefined);
      }
    }
  }

  /** Until the watch ends. Throws what is worth a pause before the next try. */
  async #listAndWatch(signal: AbortSignal): Promise<void> {
    const { api, clock } = this.#deps;
    const isListed = this.#version === undefined;
    const resourceVersion = this.#version ?? (await this.#list(signal));
    const startMs = clock.monotonic();
    let events = 0;
    const hasStood = (): boolean => events > 0 || clock.monotonic() - startMs >= SHORTEST_WATCH_MS;
    try {
      for await (const event of api.watch({ ...this.#selection, resourceVersion }, signal)) {
        events++;
        this.#take(event);
      }
    } catch (error) {
      if (!canGoOn(error)) this.#version = undefined;
      // A place that was good once has been forgotten: no reason to wait.
      if (isApiError(error, 'Expired') && !isListed) return;
      throw error;
    } finally {
      if (hasStood()) this.#pause.reset();
    }
    if (!hasStood()) throw new Error('the watch ended at once');
  }

  async #list(signal: AbortSignal): Promise<string> {
    const { items, resourceVersion } = await this.#deps.api.list(this.#selection, signal);
    this.#pods = new Map(items.map((pod) => [podFullName(pod), this.#marked(pod)]));
    this.#version = resourceVersion;
    this.#bell.ring();
    return resourceVersion;
  }

  #take(event: WatchEvent<Pod>): void {
    this.#version = event.resourceVersion;
    if (event.type === 'BOOKMARK') return;
    const pods = new Map(this.#pods);
    if (event.type === 'DELETED') pods.delete(podFullName(event.object));
    else pods.set(podFullName(event.object), this.#marked(event.object));
    this.#pods = pods;
    this.#bell.ring();
  }

  /** The pod with the annotations that kubelet adds: where it comes from, and when it was first seen. */
  #marked(pod: Pod): Pod {
    const { metadata } = pod;
    const known = this.#pods.get(podFullName(pod));
    const before = known?.metadata.uid === metadata.uid ? known : undefined;
    if (before && before.metadata.resourceVersion === metadata.resourceVersion) return before;
    const now = formatNanoTime(BigInt(Math.round(this.#deps.clock.now())) * 1_000_000n);
    const seen = before?.metadata.annotations?.[CONFIG_SEEN] ?? now;
    const annotations = { ...metadata.annotations, [CONFIG_SOURCE]: 'api', [CONFIG_SEEN]: seen };
    return { ...pod, metadata: { ...metadata, annotations } };
  }
}

/** The server was away or busy: what it said before still holds. After anything else it is asked from the start. */
function canGoOn(error: unknown): boolean {
  return isApiError(error, 'Unavailable', 'TooManyRequests');
}

function byAge(a: Pod, b: Pod): number {
  const [left, right] = [a, b].map((pod) => `${pod.metadata.creationTimestamp ?? ''} ${podFullName(pod)}`);
  return (left ?? '') < (right ?? '') ? -1 : 1;
}
