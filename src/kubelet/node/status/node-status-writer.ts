import type { Node } from '../../../api/generated/core-v1.ts';
import type { Log } from '../../../base/log.ts';
import type { Clock } from '../../../host/clock.ts';
import type { Random } from '../../../host/random.ts';
import type { ApiServer } from '../../api-client/api-server.ts';
import { type NodeCache, nodeKey } from '../node-cache.ts';
import { type NodeEvent, nodeStatusEvent } from '../node-event.ts';
import { WakeTimer } from '../wake-timer.ts';
import type { ComposedNode } from './compose-node.ts';
import { hasNodeChanged, nodePatch } from './node-patch.ts';

const TRIES = 5;
const JITTER = 0.04;

export interface NodeStatusSettings {
  readonly nodeName: string;
  readonly statusUpdateMs: number;
  readonly statusReportMs: number;
}

export interface NodeStatusDeps {
  readonly api: Pick<ApiServer, 'get' | 'patch'>;
  readonly cache: NodeCache;
  /** Returns the wanted node, based on the API server's. */
  readonly compose: (before: Node, signal: AbortSignal) => Promise<ComposedNode>;
  /** Called after each update with the node as the API server has it. */
  readonly onReported: (node: Node) => void;
  readonly recordEvents: (events: readonly NodeEvent[]) => void;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}

/**
 * Writes the node's status.
 *
 * 1. The status is composed periodically and after `updateSoon`.
 * 2. A changed status is written at once. An unchanged one is written at longer intervals, to update the heartbeat;
 *    after a change and at the start that interval is randomized, so that nodes do not write together.
 * 3. A failed write is retried with the server's current node, and after that with the next update.
 * 4. If the response shows that the cached node was outdated, the status is composed and compared again at once: a patch
 *    has only the differences to the cached node.
 * 5. A deleted node is not created again before the next start.
 */
export class NodeStatusWriter {
  readonly #settings: NodeStatusSettings;
  readonly #deps: NodeStatusDeps;
  readonly #timer: WakeTimer;
  #reportedMs: number | undefined;
  #extraMs = 0;
  #wasUnschedulable = false;

  constructor(settings: NodeStatusSettings, deps: NodeStatusDeps) {
    this.#settings = settings;
    this.#deps = deps;
    this.#timer = new WakeTimer(deps.clock);
  }

  updateSoon(): void {
    this.#timer.wake();
  }

  async run(signal: AbortSignal): Promise<void> {
    const { random } = this.#deps;
    while (!signal.aborted) {
      await this.#sync(signal);
      await this.#timer.wait(this.#settings.statusUpdateMs * (1 + JITTER * random.fraction()), signal);
    }
  }

  async #sync(signal: AbortSignal): Promise<void> {
    const { log } = this.#deps;
    for (let attempt = 1; attempt <= TRIES && !signal.aborted; attempt++) {
      try {
        const isOutdated = await this.#update(attempt, signal);
        if (isOutdated) await this.#update(attempt, signal);
        return;
      } catch (error) {
        if (signal.aborted) return;
        const message = attempt < TRIES ? 'cannot update the node status, retrying' : 'cannot update the node status';
        log.warn(message, { attempt, error });
      }
    }
  }

  /** Returns whether the node at the API server differed from the cached one, so that it may still differ from the wanted. */
  async #update(attempt: number, signal: AbortSignal): Promise<boolean> {
    const { api, cache, compose, onReported, recordEvents, log, clock } = this.#deps;
    const key = nodeKey(this.#settings.nodeName);
    // After an error the cached node may be outdated: request it.
    const known = attempt === 1 ? cache.current : undefined;
    const before = known ?? (await api.get(key, signal));
    const { node, events, errors } = await compose(before, signal);
    for (const error of errors) log.warn('cannot compute part of the node status', { error });
    this.#recordSchedulability(before);
    const isChanged = hasNodeChanged(before, node);
    if (!isChanged && !this.#isOverdue()) {
      onReported(before);
      return false;
    }
    this.#extraMs = isChanged || this.#reportedMs === undefined ? this.#randomOffsetMs() : 0;
    const written = await api.patch(key, nodePatch(before, node), { subresource: 'status' }, signal);
    cache.onObserved(written);
    onReported(written);
    this.#reportedMs = clock.monotonic();
    recordEvents(events);
    return hasNodeChanged(node, written);
  }

  #isOverdue(): boolean {
    if (this.#reportedMs === undefined) return true;
    return this.#deps.clock.monotonic() - this.#reportedMs >= this.#settings.statusReportMs + this.#extraMs;
  }

  /** Up to half a period, positive or negative. */
  #randomOffsetMs(): number {
    return this.#settings.statusReportMs * (this.#deps.random.fraction() - 0.5);
  }

  #recordSchedulability({ spec }: Node): void {
    const isUnschedulable = spec.unschedulable ?? false;
    if (isUnschedulable === this.#wasUnschedulable) return;
    this.#wasUnschedulable = isUnschedulable;
    const reason = isUnschedulable ? 'NodeNotSchedulable' : 'NodeSchedulable';
    this.#deps.recordEvents([nodeStatusEvent(this.#settings.nodeName, reason)]);
  }
}
