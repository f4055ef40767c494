/** A plugin that has answered `GetInfo`. */
export interface FoundPlugin {
  readonly name: string;
  /** The path of the socket that serves the plugin. */
  readonly endpoint: string;
  readonly supportedVersions: readonly string[];
}

/** Registers the plugins of one type. */
export interface PluginHandler {
  /** Throws with the reason that the plugin is not accepted; the plugin receives it. */
  validate(plugin: FoundPlugin): void;
  /**
   * Rejects with the reason that the plugin cannot be used, which the plugin receives, or with the signal's reason after
   * an abort. Nothing of the plugin is left then.
   */
  register(plugin: FoundPlugin, signal: AbortSignal): Promise<PluginRegistration>;
}

/** The reason of an abort when the socket is gone or replaced. After another one the agent stops. */
export class PluginSocketGoneError extends Error {
  override readonly name = 'PluginSocketGoneError';

  constructor(socketPath: string) {
    super(`plugin socket ${socketPath} is gone`);
  }
}

/** Whether the agent stops: what the cluster knows about a plugin is kept then. */
export function isAgentStopping(signal: AbortSignal): boolean {
  return signal.aborted && !(signal.reason instanceof PluginSocketGoneError);
}

/** A registered plugin. */
export interface PluginRegistration {
  /**
   * Called once, when the socket is gone or replaced. Does nothing for a registration that a later one has replaced.
   */
  deregister(signal: AbortSignal): Promise<void>;
  /** Called instead when the agent stops: closes the connection, and keeps what the cluster knows about the plugin. */
  close(): void;
}

/**
 * The handlers by plugin type, as `GetInfo` reports it: `CSIPlugin`, `DevicePlugin`, `DRAPlugin`. A plugin of another type
 * is refused.
 */
export type PluginHandlers = ReadonlyMap<string, PluginHandler>;
