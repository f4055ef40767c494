/** The service manager that started this process: systemd, or any other that speaks its protocol. See sd_notify(3). */
export interface ServiceManager {
  /**
   * The longest time between two `watchdog` notifications, after which this process is ended; `undefined`: it is not watched.
   * Throws a `ServiceManagerError` for an invalid setting.
   */
  watchdogMs(): number | undefined;

  /** Without a service manager, nothing happens. Rejects with a `ServiceManagerError`. */
  notify(notification: ServiceNotification): Promise<void>;
}

export interface ServiceNotification {
  /** The start is complete. */
  readonly ready?: true;
  readonly stopping?: true;
  /** The process works. */
  readonly watchdog?: true;
  /** One line for people: `systemctl status` shows it. */
  readonly status?: string;
  /** The current start or stop takes longer: it is not given up within this time. */
  readonly extendTimeoutMs?: number;
}

export class ServiceManagerError extends Error {
  override readonly name = 'ServiceManagerError';
}

/** The text of a notification, one assignment a line. */
export function notificationText(notification: ServiceNotification): string {
  const { ready, stopping, watchdog, status, extendTimeoutMs } = notification;
  return [
    ...(ready ? ['READY=1'] : []),
    ...(stopping ? ['STOPPING=1'] : []),
    ...(watchdog ? ['WATCHDOG=1'] : []),
    ...(status === undefined ? [] : [`STATUS=${status.replaceAll('\n', ' ')}`]),
    ...(extendTimeoutMs === undefined ? [] : [`EXTEND_TIMEOUT_USEC=${extendTimeoutMs * 1000}`]),
  ].join('\n');
}
