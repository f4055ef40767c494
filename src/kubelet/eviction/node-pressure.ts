import type { Log } from '../../base/log.ts';
import type { ImageService } from '../../cri/services.ts';
import type { CgroupStats } from '../../host/cgroup-stats.ts';
import type { Clock } from '../../host/clock.ts';
import type { FileSystem } from '../../host/file-system.ts';
import { type DiskLayout, type RuntimeDisks, readRuntimeDisks } from '../node/signals/disk-layout.ts';
import type { PressureCondition } from '../node/signals/pressure-condition.ts';
import type { PressureThreshold, SignalReadings } from '../node/signals/pressure-signal.ts';
import { readSignals } from '../node/signals/read-signals.ts';
import { effectiveThresholds } from './effective-thresholds.ts';
import { NO_PRESSURE, nextPressure, type PressureState } from './pressure-state.ts';

export interface NodePressureSettings {
  readonly thresholds: readonly PressureThreshold[];
  readonly pressureTransitionMs: number;
  readonly enforcesPods: boolean;
  /** The feature gate KubeletSeparateDiskGC. */
  readonly separatesDisks: boolean;
  readonly rootDir: string;
  readonly podsCgroup: string;
  readonly memoryBytes: number;
  /** The memory that all pods together may use. */
  readonly podsMemoryBytes: number;
}

export interface NodePressureDeps {
  readonly fs: Pick<FileSystem, 'readText' | 'usage' | 'stat'>;
  readonly cgroupStats: Pick<CgroupStats, 'usage'>;
  readonly images: Pick<ImageService, 'imageFsInfo'>;
  readonly clock: Clock;
  readonly log: Log;
}

/** What one update found. */
export interface PressureUpdate {
  readonly readings: SignalReadings;
  /** All thresholds, memory first. */
  readonly thresholds: readonly PressureThreshold[];
  /** Those for which pods are evicted, in the same order. */
  readonly due: readonly PressureThreshold[];
  readonly layout: DiskLayout;
}

const SPLIT_UNSUPPORTED = 'KubeletSeparateDiskGC is turned off but we still have a split filesystem';

/** The only owner of the node's pressure: reads the signals and keeps the conditions. */
export class NodePressure {
  readonly #settings: NodePressureSettings;
  readonly #deps: NodePressureDeps;
  readonly #listeners = new Set<() => void>();
  #state: PressureState = NO_PRESSURE;
  #disks: RuntimeDisks | undefined;
  #thresholds: readonly PressureThreshold[];
  #last: PressureUpdate | undefined;
  #current: Promise<PressureUpdate> | undefined;

  constructor(settings: NodePressureSettings, deps: NodePressureDeps) {
    this.#settings = settings;
    this.#deps = deps;
    this.#thresholds = effectiveThresholds(settings.thresholds, { ...settings, layout: 'single' });
  }

  get conditions(): ReadonlySet<PressureCondition> {
    return this.#state.conditions;
  }

  /** The last update. */
  get last(): PressureUpdate | undefined {
    return this.#last;
  }

  get hasThresholds(): boolean {
    return this.#settings.thresholds.length > 0;
  }

  /** The conditions after the first reading. If that fails there are none: the eviction manager reports the error. */
  async known(signal: AbortSignal): Promise<ReadonlySet<PressureCondition>> {
    if (!this.#last && this.hasThresholds) await this.update(signal).catch(() => undefined);
    return this.conditions;
  }

  /** Reads the signals and updates the conditions. Overlapping calls share one reading. */
  update(signal: AbortSignal): Promise<PressureUpdate> {
    this.#current ??= this.#update(signal).finally(() => {
      this.#current = undefined;
    });
    return this.#current;
  }

  /** Reads the signals without any effect on the conditions. */
  async read(signal: AbortSignal): Promise<SignalReadings> {
    const disks = await this.#readDisks(signal);
    return readSignals({ ...this.#settings, disks }, this.#deps);
  }

  /** Calls the listener after each change of the conditions. Returns the function that ends the subscription. */
  subscribe(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  async #update(signal: AbortSignal): Promise<PressureUpdate> {
    const { pressureTransitionMs: transitionMs } = this.#settings;
    const readings = await this.read(signal);
    const before = this.#state.conditions;
    const policy = { thresholds: this.#thresholds, transitionMs, nowMs: this.#deps.clock.monotonic() };
    this.#state = nextPressure(this.#state, readings, policy);
    const due = this.#thresholds.filter((each) => this.#state.due.has(each));
    this.#last = { readings, thresholds: this.#thresholds, due, layout: this.#disks?.layout ?? 'single' };
    if (before.symmetricDifference(this.#state.conditions).size > 0) for (const each of this.#listeners) each();
    return this.#last;
  }

  /** The file systems do not change, so they are read once. Until the runtime responds, only other signals are read. */
  async #readDisks(signal: AbortSignal): Promise<RuntimeDisks | undefined> {
    if (this.#disks) return this.#disks;
    const { rootDir, thresholds, separatesDisks } = this.#settings;
    const disks = await readRuntimeDisks(rootDir, this.#deps, signal).catch(() => undefined);
    if (!disks) return undefined;
    if (disks.layout === 'split' && !separatesDisks) throw new Error(SPLIT_UNSUPPORTED);
    this.#disks = disks;
    const derived = effectiveThresholds(thresholds, { ...this.#settings, layout: disks.layout });
    this.#thresholds = derived.map((each) => this.#thresholds.find((known) => isSame(known, each)) ?? each);
    return disks;
  }
}

/** Thresholds keep their identity, which the state is kept by. */
function isSame(a: PressureThreshold, b: PressureThreshold): boolean {
  return a.signal === b.signal && a.value === b.value && a.gracePeriodMs === b.gracePeriodMs;
}
