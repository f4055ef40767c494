import {
  type InhibitLock,
  type InhibitReason,
  type LoginConnection,
  type LoginManager,
  LoginManagerError,
} from '../login-manager.ts';
import type { MemoryFileSystem } from './memory-file-system.ts';

const DEFAULT_DELAY_MS = 5_000;
const CONFIGURATION = '/etc/systemd/logind.conf.d/99-kubelet.conf';

/** logind in memory, with controls for tests. */
export class MemoryLoginManager implements LoginManager {
  /** Whether the machine has logind. */
  isAvailable = true;
  /** Whether a new configuration takes effect. */
  readsConfiguration = true;
  readonly #fs: Pick<MemoryFileSystem, 'readText'>;
  readonly #connections = new Set<{ onShutdown(isStarting: boolean): void; close(): void }>();
  readonly #locks = new Set<InhibitReason>();
  #delayMs = DEFAULT_DELAY_MS;

  constructor(fs: Pick<MemoryFileSystem, 'readText'>) {
    this.#fs = fs;
  }

  /** The locks that delay shutdowns. */
  get locks(): readonly InhibitReason[] {
    return [...this.#locks];
  }

  get delayMs(): number {
    return this.#delayMs;
  }

  /** Announces a shutdown, or its cancellation. */
  announce(isStarting: boolean): void {
    for (const { onShutdown } of [...this.#connections]) onShutdown(isStarting);
  }

  /** Closes all connections, as a restart of the bus does. */
  disconnect(): void {
    for (const connection of [...this.#connections]) connection.close();
  }

  async connect(onShutdown: (isStarting: boolean) => void): Promise<LoginConnection> {
    if (!this.isAvailable)
      throw new LoginManagerError('cannot reach logind: connect ENOENT /run/dbus/system_bus_socket');
    const { promise: closed, resolve } = Promise.withResolvers<void>();
    const close = (): void => {
      this.#connections.delete(connection);
      resolve();
    };
    const connection = { onShutdown, close };
    this.#connections.add(connection);
    return {
      closed,
      close,
      inhibitDelayMs: async () => this.#delayMs,
      reloadConfiguration: async () => this.#readConfiguration(),
      delayShutdown: async (reason) => this.#lock(reason),
    };
  }

  #lock(reason: InhibitReason): InhibitLock {
    const lock = { ...reason };
    this.#locks.add(lock);
    return { release: async () => void this.#locks.delete(lock) };
  }

  async #readConfiguration(): Promise<void> {
    if (!this.readsConfiguration) return;
    const text = await this.#fs.readText(CONFIGURATION);
    const [, seconds] = /^InhibitDelayMaxSec=(\d+)$/m.exec(text) ?? [];
    if (seconds !== undefined) this.#delayMs = Number(seconds) * 1000;
  }
}
