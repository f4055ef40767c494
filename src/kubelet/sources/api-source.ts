import type { Pod } from '../../api/generated/core-v1.ts';
import { CONFIG_SEEN, CONFIG_SOURCE, podFullName } from '../../api/pod-names.ts';
import { ChangeSignal } from '../../base/change-signal.ts';
import type { Log } from '../../base/log.ts';
import { formatNanoTime } from '../../base/rfc3339.ts';
import type { Clock } from '../../host/clock.ts';
import type { Random } from '../../host/random.ts';
import type { ApiServer, Selection } from '../api-client/api-server.ts';
import { type ObjectChange, runReflector } from '../api-client/reflector.ts';
import type { PodSource, SourceSnapshot } from './pod-source.ts';
import { podWatchChannel } from './pod-watch-channel.ts';

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
 * The pods of this node at the API server, mirror pods included.
 *
 * 1. The first snapshot follows the first complete list. While the server is unreachable there are no snapshots: the
 *    last known pods stay desired.
 * 2. Changes that arrive together make one snapshot. An unchanged pod is the same object in the next snapshot.
 * 3. Older pods come first: admission prefers them.
 */
export function createApiSource({ nodeName }: ApiSourceOptions, deps: ApiSourceDeps): PodSource {
  return { name: 'api', snapshots: (signal) => new PodFollower(nodeName, deps).snapshots(signal) };
}

class PodFollower {
  readonly #deps: ApiSourceDeps;
  readonly #selection: Selection<'pods'>;
  readonly #changes = new ChangeSignal();
  #pods: ReadonlyMap<string, Pod> = new Map();

  constructor(nodeName: string, deps: ApiSourceDeps) {
    this.#deps = deps;
    this.#selection = { resource: 'pods', fieldSelector: `spec.nodeName=${nodeName}` };
  }

  async *snapshots(signal: AbortSignal): AsyncGenerator<SourceSnapshot> {
    const left = new AbortController();
    const until = AbortSignal.any([signal, left.signal]);
    until.addEventListener('abort', () => this.#changes.close(), { once: true });
    const handler = {
      onList: (pods: readonly Pod[]) => this.#list(pods),
      onChange: (event: ObjectChange<Pod>) => this.#apply(event),
    };
    const following = runReflector(this.#selection, handler, this.#deps, until);
    let sent: ReadonlyMap<string, Pod> | undefined;
    try {
      while (!until.aborted && (await this.#changes.next())) {
        // One turn of the event loop: changes that arrive together make one snapshot.
        await this.#deps.clock.sleep(0, until).catch(() => undefined);
        if (until.aborted || this.#pods === sent) continue;
        sent = this.#pods;
        yield { pods: [...sent.values()].toSorted(byAge), errors: [] };
      }
    } finally {
      left.abort();
      await following;
    }
  }

  #list(pods: readonly Pod[]): void {
    const left = new Set(pods.map(({ metadata }) => metadata.uid));
    for (const pod of this.#pods.values())
      if (!left.has(pod.metadata.uid)) podWatchChannel.publish({ kind: 'deleted', pod });
    for (const pod of pods) podWatchChannel.publish({ kind: 'seen', pod });
    this.#pods = new Map(pods.map((pod) => [podFullName(pod), this.#annotate(pod)]));
    this.#changes.notify();
  }

  #apply(event: ObjectChange<Pod>): void {
    podWatchChannel.publish({ kind: event.type === 'DELETED' ? 'deleted' : 'seen', pod: event.object });
    const pods = new Map(this.#pods);
    if (event.type === 'DELETED') pods.delete(podFullName(event.object));
    else pods.set(podFullName(event.object), this.#annotate(event.object));
    this.#pods = pods;
    this.#changes.notify();
  }

  /** Adds kubelet's annotations: the pod's source, and when it was first seen. */
  #annotate(pod: Pod): Pod {
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

function byAge(a: Pod, b: Pod): number {
  const [left, right] = [a, b].map((pod) => `${pod.metadata.creationTimestamp ?? ''} ${podFullName(pod)}`);
  return (left ?? '') < (right ?? '') ? -1 : 1;
}
