import type { Pod } from '../../api/generated/core-v1.ts';
import { formatPod } from '../../api/pod-names.ts';
import type { Log } from '../../base/log.ts';
import type { Clock } from '../../host/clock.ts';
import type { PressureEvents } from '../../host/pressure-events.ts';
import type { PodEvents } from '../events/pod-events.ts';
import type { NodeEvents } from '../node/node-event.ts';
import { WakeTimer } from '../node/wake-timer.ts';
import type { EvictionCause } from '../pod/pod-cause.ts';
import type { PodFailure } from '../pod/pod-failure.ts';
import { isCriticalPod } from '../resources/critical-pod.ts';
import type { StatsSource } from '../stats/stats-source.ts';
import { CHECK_PERIOD_MS, checkPeriodMs } from './check-period.ts';
import { isHard } from './effective-thresholds.ts';
import { evictionChannel } from './eviction-channel.ts';
import { evictionMessage } from './eviction-message.ts';
import { limitsLocalStorage, storageViolation, violationMessage } from './local-storage.ts';
import { MemoryWatch } from './memory-watch.ts';
import type { NodePressure, PressureUpdate } from './node-pressure.ts';
import { type NodeReclaim, nodeReclaims } from './node-reclaim.ts';
import { isMet } from './pressure-state.ts';
import { rankPods, type StatsOf } from './rank-pods.ts';
import { isOfDisk, SIGNAL_RESOURCES } from './starved-resource.ts';

// kubelet's numbers.
const IMMEDIATE_GRACE_SECONDS = 1;
const CLEANUP_TIMEOUT_MS = 30_000;
const MIN_KILL_TIMEOUT_SECONDS = 10;
/** Reports of the kernel may come in bursts. */
const MIN_PAUSE_MS = 100;

/** The labels of evictions for a limit of local storage, as in kubelet. */
const STORAGE_SIGNALS = {
  emptyDir: 'emptydirfs.limit',
  pod: 'ephemeralpodfs.limit',
  container: 'ephemeralcontainerfs.limit',
} as const;

export interface EvictionSettings {
  /** The longest grace period of pods that a soft threshold evicts. */
  readonly maxPodGraceSeconds: number;
  /** Limits of local storage are enforced. */
  readonly isolatesLocalStorage: boolean;
  readonly podsCgroup: string;
}

/** The pods as the eviction manager sees them. */
export interface EvictablePods {
  /** Desired pods that have not terminated. */
  active(): readonly Pod[];
  /** Resolves when no container of the pod runs. */
  kill(uid: string, ending: { readonly graceSeconds: number; readonly failure: PodFailure }): Promise<void>;
  /** The pod is already being ended by the node. */
  isEnding(uid: string): boolean;
  /** All resources of the pod are released. */
  isFinished(uid: string): boolean;
}

export interface EvictionDeps {
  readonly pressure: NodePressure;
  readonly stats: Pick<StatsSource, 'pods' | 'measuredPods'>;
  readonly pods: EvictablePods;
  readonly reclaim: Readonly<Record<NodeReclaim, (signal: AbortSignal) => Promise<void>>>;
  readonly events: Pick<PodEvents, 'record' | 'recordFailure'>;
  readonly nodeEvents: NodeEvents;
  readonly pressureEvents: PressureEvents;
  readonly clock: Clock;
  readonly log: Log;
}

interface Eviction {
  readonly pod: Pod;
  readonly graceSeconds: number;
  readonly failure: PodFailure;
  readonly cause: EvictionCause;
  readonly annotations: Readonly<Record<string, string>>;
}

/**
 * Evicts pods when the node runs short of a resource, or when they exceed their limits of local storage.
 *
 * 1. Checked every ten seconds, and when the kernel reports that memory runs short.
 * 2. A round evicts one pod for pressure, and waits until its resources are released before the next.
 * 3. Dead containers and unused images go before pods.
 * 4. Critical pods are never evicted.
 */
export class EvictionManager {
  readonly #settings: EvictionSettings;
  readonly #deps: EvictionDeps;
  readonly #timer: WakeTimer;
  readonly #podChanges: WakeTimer;
  readonly #memory: MemoryWatch;
  #periodMs = CHECK_PERIOD_MS;

  constructor(settings: EvictionSettings, deps: EvictionDeps) {
    this.#settings = settings;
    this.#deps = deps;
    this.#timer = new WakeTimer(deps.clock);
    this.#podChanges = new WakeTimer(deps.clock);
    const { pressureEvents: events, log } = deps;
    const { podsCgroup } = settings;
    this.#memory = new MemoryWatch({ events, podsCgroup, log, onPressure: () => this.#timer.wake() });
  }

  /** A pod may have ended. */
  onPodChanged(): void {
    this.#podChanges.wake();
  }

  async run(signal: AbortSignal): Promise<void> {
    const { pressure, clock } = this.#deps;
    if (!pressure.hasThresholds && !this.#settings.isolatesLocalStorage) return;
    while (!signal.aborted) {
      const evicted = await this.#synchronize(signal);
      if (evicted.length > 0) await this.#untilFinished(evicted, signal);
      else {
        await clock.sleep(MIN_PAUSE_MS, signal).catch(() => undefined);
        await this.#timer.wait(this.#periodMs - MIN_PAUSE_MS, signal);
      }
    }
  }

  async #synchronize(signal: AbortSignal): Promise<readonly Pod[]> {
    try {
      const update = await this.#deps.pressure.update(signal);
      return await this.#evict(update, signal);
    } catch (error) {
      if (!signal.aborted) this.#deps.log.error('Eviction manager: failed to synchronize', { error });
      return [];
    } finally {
      await this.#watch(signal);
    }
  }

  /** After an eviction the levels have moved: they are set by the next readings. */
  async #watch(signal: AbortSignal): Promise<void> {
    const { pressure } = this.#deps;
    if (signal.aborted || !pressure.last) return;
    const { thresholds, readings } = pressure.last;
    await this.#memory.update(thresholds, readings, signal);
    this.#periodMs = checkPeriodMs(thresholds, readings, this.#memory.isReported);
  }

  async #evict(update: PressureUpdate, signal: AbortSignal): Promise<readonly Pod[]> {
    const active = this.#deps.pods.active();
    const isLimited = this.#settings.isolatesLocalStorage && active.some(limitsLocalStorage);
    const overLimits = isLimited ? await this.#evictOverLimits(active, update, signal) : [];
    if (overLimits.length > 0) return overLimits;
    return this.#evictForPressure(active, update, signal);
  }

  async #evictOverLimits(
    active: readonly Pod[],
    { layout }: PressureUpdate,
    signal: AbortSignal,
  ): Promise<readonly Pod[]> {
    const statsOf = await this.#readStats(false, signal);
    const evicted = await Promise.all(
      active.map(async (pod) => {
        const stats = statsOf(pod);
        const violation = stats && storageViolation(pod, stats, layout);
        if (!violation) return [];
        const failure: PodFailure = { phase: 'Failed', reason: 'Evicted', message: violationMessage(violation) };
        const cause: EvictionCause = { kind: 'storageLimitExceeded', violation };
        const eviction = { pod, graceSeconds: IMMEDIATE_GRACE_SECONDS, failure, cause, annotations: {} };
        if (!(await this.#evictPod(eviction, signal))) return [];
        evictionChannel.publish({ signal: STORAGE_SIGNALS[violation.kind] });
        return [pod];
      }),
    );
    return evicted.flat();
  }

  async #evictForPressure(
    active: readonly Pod[],
    update: PressureUpdate,
    signal: AbortSignal,
  ): Promise<readonly Pod[]> {
    const { log, nodeEvents } = this.#deps;
    const [threshold] = update.due;
    if (!threshold) return [];
    const resourceName = SIGNAL_RESOURCES[threshold.signal];
    log.info('Eviction manager: attempting to reclaim', { resourceName });
    nodeEvents.record('Warning', 'EvictionThresholdMet', `Attempting to reclaim ${resourceName}`);
    if (await this.#reclaimNode(update, signal)) return [];
    const statsOf = await this.#readStats(isOfDisk(threshold.signal), signal);
    for (const pod of rankPods(threshold.signal, active, statsOf, update.layout)) {
      const { message, annotations, crossed } = evictionMessage(resourceName, pod, statsOf(pod), update);
      const failure: PodFailure = { phase: 'Failed', reason: 'Evicted', message, disruption: true };
      const graceSeconds = isHard(threshold) ? IMMEDIATE_GRACE_SECONDS : this.#softGrace(pod);
      const cause: EvictionCause = { kind: 'nodeLow', resource: resourceName, signal: threshold.signal, crossed };
      if (!(await this.#evictPod({ pod, graceSeconds, failure, annotations, cause }, signal))) continue;
      evictionChannel.publish({ signal: threshold.signal });
      return [pod];
    }
    log.info('Eviction manager: unable to evict any pods from the node');
    return [];
  }

  /** Pods are ranked by what they have on the disk now, not by what they had a minute ago. */
  async #readStats(withDisks: boolean, signal: AbortSignal): Promise<StatsOf> {
    const { stats } = this.#deps;
    const all = await (withDisks ? stats.measuredPods(signal) : stats.pods(signal));
    const byUid = new Map(all.map((each) => [each.podRef.uid, each]));
    return ({ metadata }) => byUid.get(metadata.uid);
  }

  #softGrace({ spec }: Pod): number {
    const { maxPodGraceSeconds } = this.#settings;
    return Math.min(maxPodGraceSeconds, spec.terminationGracePeriodSeconds ?? maxPodGraceSeconds);
  }

  /** Returns whether no threshold is met any more. */
  async #reclaimNode({ due, thresholds, layout }: PressureUpdate, signal: AbortSignal): Promise<boolean> {
    const { reclaim, pressure, log } = this.#deps;
    const reclaims = due[0] ? nodeReclaims(due[0].signal, layout) : [];
    if (reclaims.length === 0) return false;
    for (const each of reclaims) {
      await reclaim[each](signal).catch((error: unknown) => {
        log.info('Eviction manager: unexpected error when attempting to reduce resource pressure', { error });
      });
    }
    const readings = await pressure.read(signal);
    const isRelieved = !thresholds.some((each) => isMet(each, readings, true));
    if (isRelieved) log.info('Eviction manager: able to reduce resource pressure without evicting pods.');
    return isRelieved;
  }

  /** Returns whether the pod may be evicted at all; a pod that does not end in time counts as evicted. */
  async #evictPod({ pod, graceSeconds, failure, cause, annotations }: Eviction, signal: AbortSignal): Promise<boolean> {
    const { events, pods, clock, log } = this.#deps;
    const name = formatPod(pod);
    if (isCriticalPod(pod)) {
      log.error('Eviction manager: cannot evict a critical pod', { pod: name });
      return false;
    }
    const { uid } = pod.metadata;
    if (!pods.isEnding(uid)) {
      events.recordFailure(pod, 'Warning', failure, { annotations, cause });
    }
    const timeoutMs = Math.max(MIN_KILL_TIMEOUT_SECONDS, graceSeconds * 1.5) * 1000;
    const isKilled = await Promise.race([
      pods.kill(uid, { graceSeconds, failure }).then(() => true),
      clock.sleep(timeoutMs, signal).then(
        () => false,
        () => true,
      ),
    ]);
    if (isKilled) log.info('Eviction manager: pod is evicted successfully', { pod: name });
    else {
      const message = 'Container runtime did not kill the pod within specified grace period.';
      events.record(pod, 'Warning', 'ExceededGracePeriod', message);
      log.error('Eviction manager: pod failed to evict', { pod: name, error: 'timeout waiting to kill pod' });
    }
    return true;
  }

  async #untilFinished(evicted: readonly Pod[], signal: AbortSignal): Promise<void> {
    const { clock, pods, pressure, log } = this.#deps;
    const endMs = clock.monotonic() + CLEANUP_TIMEOUT_MS;
    while (!signal.aborted && !evicted.every(({ metadata }) => pods.isFinished(metadata.uid))) {
      const leftMs = endMs - clock.monotonic();
      if (leftMs <= 0) {
        log.info('Eviction manager: timed out waiting for pods to be cleaned up', { pods: evicted.map(formatPod) });
        return;
      }
      await this.#podChanges.wait(Math.min(leftMs, CHECK_PERIOD_MS), signal);
      // The conditions of the node follow its resources meanwhile.
      await pressure.update(signal).catch(() => undefined);
    }
  }
}
