import { type CsiDriver, CsiDriverNotFoundError, type CsiDrivers } from '../csi/csi-drivers.ts';

/** The registered drivers of a node in memory. */
export class FakeCsiDrivers implements CsiDrivers {
  readonly #byName = new Map<string, CsiDriver>();
  readonly #listeners = new Set<(driverName: string) => void>();

  constructor(...drivers: readonly CsiDriver[]) {
    for (const driver of drivers) this.#byName.set(driver.name, driver);
  }

  /** Replaces a driver of the same name. */
  register(driver: CsiDriver): void {
    this.#byName.set(driver.name, driver);
    for (const listener of [...this.#listeners]) listener(driver.name);
  }

  unregister(name: string): void {
    this.#byName.delete(name);
  }

  driver(name: string): CsiDriver {
    const driver = this.#byName.get(name);
    if (!driver) throw new CsiDriverNotFoundError(name);
    return driver;
  }

  subscribe(listener: (driverName: string) => void): () => void {
    const each = (name: string): void => listener(name);
    this.#listeners.add(each);
    return () => void this.#listeners.delete(each);
  }
}
