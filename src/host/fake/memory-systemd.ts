import { type Systemd, SystemdError, slicePath, type UnitProperties } from '../systemd.ts';
import { ErrorInjector } from './error-injector.ts';
import type { MemoryCgroups } from './memory-cgroups.ts';

type Operation = 'start' | 'change' | 'stop' | 'move processes to';

/** systemd in memory, as far as slices go. Starting and stopping a slice creates and removes its cgroup, as systemd does. */
export class MemorySystemd implements Systemd {
  /** `errors.failNext('start', 'timed out', unit?)`. */
  readonly errors = new ErrorInjector<Operation>();
  readonly #cgroups: MemoryCgroups;
  readonly #units = new Map<string, UnitProperties>();

  constructor(cgroups: MemoryCgroups) {
    this.#cgroups = cgroups;
  }

  async startTransientUnit(name: string, properties: UnitProperties): Promise<void> {
    this.#throwInjected('start', name);
    if (this.#units.has(name)) return;
    for (const parent of slicePath(name).split('/').slice(1)) if (!this.#units.has(parent)) this.#units.set(parent, {});
    this.#units.set(name, properties);
    await this.#cgroups.create(slicePath(name));
  }

  async setUnitProperties(name: string, properties: UnitProperties): Promise<void> {
    this.#throwInjected('change', name);
    // A slice without a file need not be started for that.
    this.#units.set(name, { ...this.#units.get(name), ...properties });
  }

  /** Stops the slices below it too. */
  async stopUnit(name: string): Promise<void> {
    this.#throwInjected('stop', name);
    const prefix = name.replace(/\.slice$/, '-');
    for (const unit of [...this.#units.keys()].filter((each) => each === name || each.startsWith(prefix))) {
      this.#units.delete(unit);
    }
    await this.#cgroups.remove(slicePath(name));
  }

  async moveToScope(name: string, pids: readonly number[], properties: UnitProperties): Promise<void> {
    this.#throwInjected('move processes to', name);
    const scope = this.#units.get(name) ?? properties;
    this.#units.set(name, { ...scope, PIDs: [...(scope.PIDs ?? []), ...pids] });
  }

  /** The unit's properties; `undefined` when it does not exist. */
  propertiesOf(name: string): UnitProperties | undefined {
    return this.#units.get(name);
  }

  #throwInjected(operation: Operation, unit: string): void {
    const reason = this.errors.take(operation, unit);
    if (reason !== undefined) throw new SystemdError(operation, unit, reason);
  }
}
