import type { Log } from '../../base/log.ts';
import type { PressureEvents } from '../../host/pressure-events.ts';
import { type PressureThreshold, type SignalReadings, thresholdAmount } from '../node/signals/pressure-signal.ts';
import { isOfMemory } from './effective-thresholds.ts';

/** A level moves with the page cache; smaller differences are not worth a new registration. */
const TOLERANCE_BYTES = 4 * 2 ** 20;
/** Tasks that waited this long for memory slow each other down noticeably. */
const STALLS = { stallMs: 100, windowMs: 2000 };

export interface MemoryLevel {
  readonly cgroup: string;
  readonly bytes: number;
}

/** The memory usage, page cache included, at which each memory threshold is met. */
export function memoryLevels(
  thresholds: readonly PressureThreshold[],
  readings: SignalReadings,
  podsCgroup: string,
): readonly MemoryLevel[] {
  return thresholds.filter(isOfMemory).flatMap(({ signal, value }) => {
    const figures = readings.get(signal);
    if (!figures) return [];
    const { capacity, reclaimableBytes = 0 } = figures;
    const bytes = Number(capacity - thresholdAmount(value, capacity)) + reclaimableBytes;
    return bytes > 0 ? [{ cgroup: signal === 'memory.available' ? '/' : podsCgroup, bytes }] : [];
  });
}

export interface MemoryWatchDeps {
  readonly events: PressureEvents;
  readonly podsCgroup: string;
  readonly log: Log;
  readonly onPressure: () => void;
}

interface Watch extends MemoryLevel {
  readonly end: AbortController;
}

/** Has the kernel report when memory thresholds are crossed. Calls must not overlap. */
export class MemoryWatch {
  readonly #deps: MemoryWatchDeps;
  #watches: readonly Watch[] = [];
  #isReported = true;
  #watchesStalls = false;

  constructor(deps: MemoryWatchDeps) {
    this.#deps = deps;
  }

  /** Whether the kernel reports crossed thresholds; if not, memory is to be read often while it is short. */
  get isReported(): boolean {
    return this.#isReported;
  }

  /** Adapts the levels to new readings. Errors are logged: memory is read regularly as well. */
  async update(thresholds: readonly PressureThreshold[], readings: SignalReadings, signal: AbortSignal): Promise<void> {
    if (!thresholds.some(isOfMemory)) return;
    await this.#watchStalls(signal);
    const levels = memoryLevels(thresholds, readings, this.#deps.podsCgroup);
    const kept = this.#watches.filter((watch) => levels.some((level) => isNear(watch, level)));
    for (const watch of this.#watches) if (!kept.includes(watch)) watch.end.abort();
    const missing = levels.filter((level) => !kept.some((watch) => isNear(watch, level)));
    const added = await Promise.all(missing.map((level) => this.#watchUsage(level, signal)));
    this.#watches = [...kept, ...added.filter((each) => each !== undefined)];
  }

  async #watchUsage(level: MemoryLevel, signal: AbortSignal): Promise<Watch | undefined> {
    const { events, onPressure, log } = this.#deps;
    const end = new AbortController();
    const until = AbortSignal.any([signal, end.signal]);
    try {
      this.#isReported = await events.watchUsage(level.cgroup, level.bytes, onPressure, until);
      return this.#isReported ? { ...level, end } : undefined;
    } catch (error) {
      end.abort();
      log.debug('cannot watch the memory of cgroup', { ...level, error });
      return undefined;
    }
  }

  async #watchStalls(signal: AbortSignal): Promise<void> {
    if (this.#watchesStalls) return;
    this.#watchesStalls = true;
    const { events, onPressure, log } = this.#deps;
    await events.watchStalls(STALLS, onPressure, signal).catch((error: unknown) => {
      log.debug('cannot watch for tasks that wait for memory', { error });
    });
  }
}

function isNear(a: MemoryLevel, b: MemoryLevel): boolean {
  return a.cgroup === b.cgroup && Math.abs(a.bytes - b.bytes) <= TOLERANCE_BYTES;
}
