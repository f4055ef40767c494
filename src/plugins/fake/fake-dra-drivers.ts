import { type DraDriver, DraDriverNotRegisteredError, type DraDrivers } from '../dra/dra-drivers.ts';

/** The registered DRA drivers of a node in memory. */
export class FakeDraDrivers implements DraDrivers {
  readonly #byName = new Map<string, DraDriver>();
  readonly #listeners = new Set<(driverName: string) => void>();

  constructor(...drivers: readonly DraDriver[]) {
    for (const driver of drivers) this.#byName.set(driver.name, driver);
  }

  register(driver: DraDriver): void {
    this.#byName.set(driver.name, driver);
    for (const listener of [...this.#listeners]) listener(driver.name);
  }

  unregister(name: string): void {
    this.#byName.delete(name);
  }

  driver(name: string): DraDriver {
    const driver = this.#byName.get(name);
    if (!driver) throw new DraDriverNotRegisteredError(name);
    return driver;
  }

  subscribe(listener: (driverName: string) => void): () => void {
    const each = (name: string): void => listener(name);
    this.#listeners.add(each);
    return () => void this.#listeners.delete(each);
  }
}
