import { type ServiceManager, ServiceManagerError, type ServiceNotification } from '../service-manager.ts';

/** A service manager that records the notifications. */
export class MemoryServiceManager implements ServiceManager {
  readonly received: ServiceNotification[] = [];
  /** Set it to be watched. */
  watchdog: number | undefined;
  /** Set it to make every notification fail. */
  failure: string | undefined;

  watchdogMs(): number | undefined {
    return this.watchdog;
  }

  async notify(notification: ServiceNotification): Promise<void> {
    if (this.failure !== undefined) throw new ServiceManagerError(this.failure);
    this.received.push(notification);
  }
}
