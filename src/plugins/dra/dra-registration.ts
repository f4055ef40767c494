import { errorText } from '../../base/error-text.ts';
import type { Log } from '../../base/log.ts';
import type { Clock } from '../../host/clock.ts';
import type { FoundPlugin, PluginHandler, PluginRegistration } from '../registration/plugin-handler.ts';
import { type DraDriver, DraDriverNotRegisteredError, type DraDrivers, type DraHealthListener } from './dra-drivers.ts';
import { chooseDraService, type DraService } from './dra-services.ts';
import { GrpcDraDriver } from './grpc-dra-driver.ts';

/** kubelet's pause between two streams of a plugin's health. */
const HEALTH_RETRY_MS = 5_000;

export interface DraRegistrationDeps {
  readonly clock: Clock;
  readonly log: Log;
  /** Absent: the feature gate ResourceHealthStatus is off. */
  readonly health?: DraHealthListener | undefined;
  /** Called with each change of a plugin: whether any plugin of the driver is connected. */
  readonly onUsable: (driverName: string, isUsable: boolean) => void;
}

interface Entry {
  readonly driver: GrpcDraDriver;
  readonly life: AbortController;
  isConnected: boolean;
}

/**
 * The DRA drivers of the node, and the handler of plugins of type `DRAPlugin`.
 *
 * 1. Several plugins of one driver can be registered at once, each with its own endpoint: a rolling update starts the new
 *    one before it stops the old one.
 * 2. A plugin that is registered and not connected stays registered: it may be restarting.
 */
export class DraRegistration implements DraDrivers, PluginHandler {
  readonly #deps: DraRegistrationDeps;
  /** In the order of their registration. */
  readonly #byName = new Map<string, readonly Entry[]>();
  readonly #listeners = new Set<(driverName: string) => void>();

  constructor(deps: DraRegistrationDeps) {
    this.#deps = deps;
  }

  driver(name: string): DraDriver {
    const entries = this.#byName.get(name) ?? [];
    const newest = entries.findLast(({ isConnected }) => isConnected) ?? entries.at(-1);
    if (!newest) throw new DraDriverNotRegisteredError(name);
    return newest.driver;
  }

  subscribe(listener: (driverName: string) => void): () => void {
    const each = (name: string): void => listener(name);
    this.#listeners.add(each);
    return () => void this.#listeners.delete(each);
  }

  validate(plugin: FoundPlugin): void {
    this.#chooseService(plugin);
  }

  async register(plugin: FoundPlugin, signal: AbortSignal): Promise<PluginRegistration> {
    signal.throwIfAborted();
    const { name, endpoint } = plugin;
    const service = this.#chooseService(plugin);
    const others = this.#byName.get(name) ?? [];
    if (others.some(({ driver }) => driver.endpoint === endpoint)) {
      throw new Error(`endpoint ${endpoint} already registered for DRA driver plugin ${name}`);
    }
    const entry = { driver: this.#connect(plugin, service), life: new AbortController(), isConnected: false };
    this.#byName.set(name, [...others, entry]);
    entry.driver.followConnection((isConnected) => this.#setConnected(entry, isConnected));
    this.#changed(name);
    this.#notify(name);
    if (this.#deps.health) void this.#followHealth(entry, this.#deps.health);
    return { deregister: async () => this.#remove(entry), close: () => this.#close(entry) };
  }

  #connect({ name, endpoint }: FoundPlugin, service: DraService): GrpcDraDriver {
    try {
      return new GrpcDraDriver(name, endpoint, service, this.#deps.clock);
    } catch (error) {
      const failed = `create gRPC connection to DRA driver ${name} plugin at endpoint ${endpoint}`;
      throw new Error(`${failed}: ${errorText(error)}`, { cause: error });
    }
  }

  #setConnected(entry: Entry, isConnected: boolean): void {
    const { name, endpoint } = entry.driver;
    this.#deps.log.debug('the connection to a DRA plugin changed', { driver: name, endpoint, isConnected });
    entry.isConnected = isConnected;
    this.#changed(name);
    if (isConnected) this.#notify(name);
  }

  #remove(entry: Entry): void {
    const { name } = entry.driver;
    const left = (this.#byName.get(name) ?? []).filter((each) => each !== entry);
    if (left.length > 0) this.#byName.set(name, left);
    else this.#byName.delete(name);
    this.#close(entry);
    if (left.length === 0) this.#deps.health?.onHealthLost(name);
    this.#changed(name);
  }

  /** Whether another plugin of the driver is registered, and may report the same devices. */
  #hasOthers(driver: GrpcDraDriver): boolean {
    return (this.#byName.get(driver.name) ?? []).some((each) => each.driver !== driver);
  }

  /** Calls in progress go on. */
  #close({ driver, life }: Entry): void {
    life.abort(new Error('the plugin is not registered any more'));
    driver.close();
  }

  #changed(name: string): void {
    const isUsable = (this.#byName.get(name) ?? []).some(({ isConnected }) => isConnected);
    this.#deps.onUsable(name, isUsable);
  }

  #notify(name: string): void {
    for (const listener of [...this.#listeners]) {
      try {
        listener(name);
      } catch (error) {
        this.#deps.log.error('listener of registered DRA drivers failed', { driver: name, error });
      }
    }
  }

  /** As kubelet, also for a plugin that does not list the health service. */
  async #followHealth({ driver, life: { signal } }: Entry, health: DraHealthListener): Promise<void> {
    const { clock, log } = this.#deps;
    while (!signal.aborted) {
      try {
        for await (const devices of driver.health(signal)) health.onHealth(driver.name, devices);
      } catch (error) {
        if (!signal.aborted) log.debug('no health of DRA devices', { driver: driver.name, error });
      }
      if (!signal.aborted && !this.#hasOthers(driver)) health.onHealthLost(driver.name);
      await clock.sleep(HEALTH_RETRY_MS, signal).catch(() => undefined);
    }
  }

  #chooseService({ name, endpoint, supportedVersions }: FoundPlugin): DraService {
    try {
      return chooseDraService(supportedVersions);
    } catch (error) {
      const invalid = `invalid supported gRPC versions of DRA driver plugin ${name} at endpoint ${endpoint}`;
      throw new Error(`${invalid}: ${errorText(error)}`, { cause: error });
    }
  }
}
