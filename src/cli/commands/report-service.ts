import type { Log } from '../../base/log.ts';
import type { Clock } from '../../host/clock.ts';
import type { ServiceManager, ServiceNotification } from '../../host/service-manager.ts';
import { CommandError } from '../options/command-error.ts';

/** The shortest watchdog time that kubelet accepts, exclusively. */
const MIN_WATCHDOG_MS = 1_000;
/** While the service stops, it asks for this time again and again, as long as its event loop works. */
const STOP_EXTENSION_MS = 30_000;
const STOP_EXTENSION_INTERVAL_MS = 10_000;

export interface ServiceDeps {
  readonly serviceManager: ServiceManager;
  readonly clock: Pick<Clock, 'sleep'>;
  readonly log: Log;
  /** Why the process does not do its work; asked before each `watchdog` notification. */
  unhealthyReason(): string | undefined;
}

/**
 * Reports to the service manager, if there is one: that the service has started; that it works, as long as it does (kubelet's
 * systemd watchdog); and that it is stopping, from `ending` on. Dispose of it at the end. Throws a `CommandError` for a
 * watchdog time that is too short.
 */
export function reportService(status: string, deps: ServiceDeps, ending: AbortSignal): Disposable {
  const watchdogMs = deps.serviceManager.watchdogMs();
  if (watchdogMs !== undefined && watchdogMs <= MIN_WATCHDOG_MS) {
    throw new CommandError(`configure watchdog timeout too small: ${watchdogMs / 1000}s`);
  }
  const over = new AbortController();
  const started = notify({ ready: true, status }, deps);
  if (watchdogMs !== undefined) void started.then(() => reportHealth(watchdogMs / 2, deps, over.signal));
  const onEnding = (): void => void started.then(() => reportStop(deps, over.signal));
  if (ending.aborted) onEnding();
  else ending.addEventListener('abort', onEnding, { once: true });
  return {
    [Symbol.dispose]() {
      ending.removeEventListener('abort', onEnding);
      over.abort();
    },
  };
}

async function reportHealth(intervalMs: number, deps: ServiceDeps, signal: AbortSignal): Promise<void> {
  for (;;) {
    const reason = deps.unhealthyReason();
    if (reason === undefined) await notify({ watchdog: true }, deps);
    else deps.log.error('not healthy: the watchdog of the service manager is not notified', { reason });
    await deps.clock.sleep(intervalMs, signal).catch(() => undefined);
    if (signal.aborted) return;
  }
}

/** Pods may have any grace period, so the stop takes as long as they do. */
async function reportStop(deps: ServiceDeps, signal: AbortSignal): Promise<void> {
  await notify({ stopping: true, status: 'stopping' }, deps);
  while (!signal.aborted) {
    await notify({ extendTimeoutMs: STOP_EXTENSION_MS }, deps);
    await deps.clock.sleep(STOP_EXTENSION_INTERVAL_MS, signal).catch(() => undefined);
  }
}

/** Never rejects: the service works without its manager. */
async function notify(
  notification: ServiceNotification,
  { serviceManager, log }: Pick<ServiceDeps, 'serviceManager' | 'log'>,
): Promise<void> {
  await serviceManager.notify(notification).catch((error: unknown) => {
    log.warn('the service manager cannot be notified', { error });
  });
}
