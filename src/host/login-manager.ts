/** logind, which delays a shutdown of the machine for programs that need time to prepare. */
export interface LoginManager {
  /**
   * Connects to logind. `onShutdown` is called with `true` before each shutdown, and with `false` when it was cancelled.
   * Rejects on a machine without logind.
   */
  connect(onShutdown: (isStarting: boolean) => void, signal: AbortSignal): Promise<LoginConnection>;
}

export interface LoginConnection {
  /** Resolves when the connection is closed or lost. */
  readonly closed: Promise<void>;
  /** How long logind delays a shutdown: `InhibitDelayMaxSec` of its configuration. */
  inhibitDelayMs(signal: AbortSignal): Promise<number>;
  /** Has logind read its configuration again, which takes effect some time later. */
  reloadConfiguration(signal: AbortSignal): Promise<void>;
  /** Delays shutdowns until the lock is released. The end of the process releases it too. */
  delayShutdown(reason: InhibitReason, signal: AbortSignal): Promise<InhibitLock>;
  close(): void;
}

/** As `systemd-inhibit --list` shows it. */
export interface InhibitReason {
  readonly who: string;
  readonly why: string;
}

export interface InhibitLock {
  release(): Promise<void>;
}

/** logind refused a request, or cannot be reached. */
export class LoginManagerError extends Error {
  override readonly name = 'LoginManagerError';
}
