import { LatestOnly } from '../../base/latest-only.ts';
import type { Log } from '../../base/log.ts';
import type { Clock } from '../../host/clock.ts';
import { type FileSystem, FileSystemError } from '../../host/file-system.ts';
import type { DraHealthListener } from '../../plugins/dra/dra-drivers.ts';
import type { DeviceHealth as ReportedHealth } from '../../plugins/generated/dra-health-v1alpha1.ts';
import {
  applyHealthReport,
  currentHealth,
  type DeviceHealth,
  decodeHealth,
  encodeHealth,
  expireHealth,
  type HealthByDriver,
  type HealthState,
  nextExpiry,
} from './device-health.ts';

export interface DeviceHealthDeps {
  readonly fs: FileSystem;
  readonly clock: Clock;
  readonly log: Log;
  /** Called with the devices of a driver whose health changed. */
  readonly onChanged: (driver: string, devices: readonly DeviceHealth[]) => void;
}

/** Created once: capturing a stack for each report is expensive. */
const REPORTED = new Error('there is a newer report');

/**
 * The health of the devices of DRA drivers, and its copy on disk, kubelet's `dra_health_state`. The copy is only a hint
 * for the next process: an error with it is logged.
 */
export class DeviceHealthStates implements DraHealthListener {
  readonly #deps: DeviceHealthDeps;
  readonly #path: string;
  readonly #writes: LatestOnly<void>;
  readonly #life: AbortSignal;
  #states: HealthByDriver;
  #expiry: AbortController | undefined;

  private constructor(path: string, states: HealthByDriver, deps: DeviceHealthDeps, life: AbortSignal) {
    this.#path = path;
    this.#states = states;
    this.#deps = deps;
    this.#life = life;
    const onFailed = (error: unknown): void => deps.log.error('cannot write the health of DRA devices', { error });
    this.#writes = new LatestOnly(() => this.#write(), onFailed);
  }

  static async read(rootDir: string, deps: DeviceHealthDeps, life: AbortSignal): Promise<DeviceHealthStates> {
    const path = `${rootDir}/dra_health_state`;
    try {
      return new DeviceHealthStates(path, decodeHealth(await deps.fs.readText(path)), deps, life);
    } catch (error) {
      const isMissing = error instanceof FileSystemError && error.code === 'ENOENT';
      if (!isMissing) deps.log.error('cannot read the health of DRA devices, nothing is known about them', { error });
      return new DeviceHealthStates(path, new Map(), deps, life);
    }
  }

  get(driver: string, poolName: string, deviceName: string): HealthState {
    return currentHealth(this.#states, { driver, poolName, deviceName }, this.#deps.clock.now());
  }

  onHealth(driver: string, reported: readonly ReportedHealth[]): void {
    const { states, changed } = applyHealthReport(this.#states, driver, reported, this.#deps.clock.now());
    this.#states = states;
    this.#watchExpiry();
    this.#changed(driver, changed);
  }

  onHealthLost(driver: string): void {
    const known = [...(this.#states.get(driver)?.values() ?? [])];
    if (!this.#states.has(driver)) return;
    this.#states = new Map([...this.#states].filter(([name]) => name !== driver));
    this.#changed(driver, known);
  }

  #changed(driver: string, devices: readonly DeviceHealth[]): void {
    if (devices.length === 0) return;
    this.#writes.offer();
    this.#deps.onChanged(driver, devices);
  }

  /** A plugin that reports no more without ending its stream: the status of pods shows it when the timeout is over. */
  #watchExpiry(): void {
    const { clock } = this.#deps;
    this.#expiry?.abort(REPORTED);
    const atMs = nextExpiry(this.#states);
    if (atMs === undefined) return;
    this.#expiry = new AbortController();
    clock.sleep(atMs - clock.now(), AbortSignal.any([this.#life, this.#expiry.signal])).then(
      () => this.#expire(),
      () => undefined, // a report came first, or the agent stops
    );
  }

  #expire(): void {
    const { states, changed } = expireHealth(this.#states, this.#deps.clock.now());
    this.#states = states;
    for (const [driver, devices] of changed) this.#changed(driver, devices);
    this.#watchExpiry();
  }

  /** Resolves when the file has the last state. */
  settled(): Promise<void> {
    return this.#writes.idle();
  }

  #write(): Promise<void> {
    return this.#deps.fs.writeReplacing(this.#path, encodeHealth(this.#states), { mode: 0o600 });
  }
}
