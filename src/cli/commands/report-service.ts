import type { Log } from '../../base/log.ts';
import type { Clock } from '../../host/clock.ts';
import type { ServiceManager, ServiceNotification } from '../../host/service-manager.ts';
import { CommandError } from '../options/command-error.ts';

/** The shortest watchdog time that kubelet accepts, exclusively. */
const MIN_WATCHDOG_MS = 1_000;
/** While the service starts or stops, it asks for this time again and again, as long as its event loop works. */
const EXTENSION_MS = 30_000;
const EXTENSION_INTERVAL_MS = 10_000;

export interface ServiceDeps {
  readonly serviceManager: ServiceManager;
  readonly clock: Pick<Clock, 'sleep'>;
  readonly log: Log;
}

/**
 * Reports the process to the service manager that started it, if there is one: that it is starting, has started (`ready`),
 * works, and is stopping (from `ending` on). A start may wait for a slow disk or a certificate, and a stop for the grace
 * periods of pods, so neither is given up as long as the event loop works. Dispose of it at the end.
 */
export class ServiceReport implements Disposable {
  readonly #deps: ServiceDeps;
  readonly #ending: AbortSignal;
  readonly #watchdogMs: number | undefined;
  readonly #started = new AbortController();
  readonly #over = new AbortController();
  readonly #onEnding = (): void => void this.#reportStop();

  /** Throws a `CommandError` for a watchdog time that is too short. */
  constructor(deps: ServiceDeps, ending: AbortSignal) {
    this.#deps = deps;
    this.#ending = ending;
    this.#watchdogMs = deps.serviceManager.watchdogMs();
    if (this.#watchdogMs !== undefined && this.#watchdogMs <= MIN_WATCHDOG_MS) {
      throw new CommandError(`configure watchdog timeout too small: ${this.#watchdogMs / 1000}s`);
    }
    void this.#extend(AbortSignal.any([this.#started.signal, this.#over.signal, ending]));
    ending.addEventListener('abort', this.#onEnding, { once: true });
  }

  /** `unhealthyReason`: why the process does not do its work; asked before each notification of the watchdog. */
  ready(status: string, unhealthyReason: () => string | undefined): void {
    if (this.#started.signal.aborted || this.#ending.aborted) return;
    this.#started.abort();
    void this.#notify({ ready: true, status });
    if (this.#watchdogMs !== undefined) void this.#reportHealth(this.#watchdogMs / 2, unhealthyReason);
  }

  [Symbol.dispose](): void {
    this.#ending.removeEventListener('abort', this.#onEnding);
    this.#over.abort();
  }

  /** kubelet's systemd watchdog: a sync loop that hangs is restarted by the service manager. */
  async #reportHealth(intervalMs: number, unhealthyReason: () => string | undefined): Promise<void> {
    const { clock, log } = this.#deps;
    while (!this.#over.signal.aborted) {
      const reason = unhealthyReason();
      if (reason === undefined) await this.#notify({ watchdog: true });
      else log.error('not healthy: the watchdog of the service manager is not notified', { reason });
      await clock.sleep(intervalMs, this.#over.signal).catch(() => undefined);
    }
  }

  async #reportStop(): Promise<void> {
    await this.#notify({ stopping: true, status: 'stopping' });
    await this.#extend(this.#over.signal);
  }

  async #extend(until: AbortSignal): Promise<void> {
    while (!until.aborted) {
      await this.#notify({ extendTimeoutMs: EXTENSION_MS });
      await this.#deps.clock.sleep(EXTENSION_INTERVAL_MS, until).catch(() => undefined);
    }
  }

  /** Never rejects: the service works without its manager. */
  async #notify(notification: ServiceNotification): Promise<void> {
    const { serviceManager, log } = this.#deps;
    await serviceManager.notify(notification).catch((error: unknown) => {
      log.warn('the service manager cannot be notified', { error });
    });
  }
}
