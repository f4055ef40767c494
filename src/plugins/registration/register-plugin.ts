import type { Clock } from '../../host/clock.ts';
import { type PluginInfo, RegistrationDefinition } from '../generated/pluginregistration-v1.ts';
import { PluginConnection, pluginRpc } from '../plugin-connection.ts';
import { goErrorText } from '../plugin-error.ts';
import { type FoundPlugin, isAgentStopping, type PluginHandlers, type PluginRegistration } from './plugin-handler.ts';

const GET_INFO = pluginRpc(RegistrationDefinition, RegistrationDefinition.methods.getInfo);
const NOTIFY = pluginRpc(RegistrationDefinition, RegistrationDefinition.methods.notifyRegistrationStatus);

/** kubelet's timeouts. */
const DIAL_MS = 10_000;
const GET_INFO_MS = 1_000;
const NOTIFY_MS = 5_000;
/** The limit of an undo, which does not depend on the caller's signal. */
const UNDO_MS = 10_000;

export interface RegisterPluginDeps {
  readonly handlers: PluginHandlers;
  readonly clock: Clock;
}

/** A plugin that knows that it is registered. */
export interface RegisteredPlugin {
  readonly type: string;
  readonly plugin: FoundPlugin;
  readonly registration: PluginRegistration;
}

/** Registers the plugin behind the socket and sends it the result. Rejects with kubelet's messages. */
export async function registerPlugin(
  socketPath: string,
  deps: RegisterPluginDeps,
  signal: AbortSignal,
): Promise<RegisteredPlugin> {
  const connection = new PluginConnection(socketPath, deps.clock, '');
  try {
    return await new RegistrationAttempt(socketPath, connection, deps).run(signal);
  } finally {
    connection.close();
  }
}

class RegistrationAttempt {
  readonly #socketPath: string;
  readonly #connection: PluginConnection;
  readonly #deps: RegisterPluginDeps;

  constructor(socketPath: string, connection: PluginConnection, deps: RegisterPluginDeps) {
    this.#socketPath = socketPath;
    this.#connection = connection;
    this.#deps = deps;
  }

  async run(signal: AbortSignal): Promise<RegisteredPlugin> {
    const path = this.#socketPath;
    await this.#connection.connect(DIAL_MS, signal).catch((error: unknown) => {
      const cause = `failed to dial socket ${path}, err: ${goErrorText(error)}`;
      throw this.#failure(`dial failed at socket ${path}, err: ${cause}`, error, signal);
    });
    const info = await this.#connection.call(GET_INFO, {}, GET_INFO_MS, signal).catch((error: unknown) => {
      const text = `failed to get plugin info using RPC GetInfo at socket ${path}, err: ${goErrorText(error)}`;
      throw this.#failure(text, error, signal);
    });
    return this.#registerFound(info, signal);
  }

  async #registerFound(info: PluginInfo, signal: AbortSignal): Promise<RegisteredPlugin> {
    const { type, name, supportedVersions } = info;
    const plugin = { name, endpoint: info.endpoint || this.#socketPath, supportedVersions };
    const handler = this.#deps.handlers.get(type);
    if (!handler) {
      return this.#refuse(`no handler registered for plugin type: ${type} at socket ${this.#socketPath}`, signal);
    }
    try {
      handler.validate(plugin);
    } catch (error) {
      return this.#refuse(`plugin validation failed with err: ${goErrorText(error)}`, signal, error);
    }
    let registration: PluginRegistration;
    try {
      registration = await handler.register(plugin, signal);
    } catch (error) {
      signal.throwIfAborted();
      return this.#refuse(`plugin registration failed with err: ${goErrorText(error)}`, signal, error);
    }
    await this.#notify({ pluginRegistered: true, error: '' }, signal).catch(async (error: unknown) => {
      const cause = await this.#undo(registration, error, signal);
      const text = `failed to send registration status at socket ${this.#socketPath}, err: : ${goErrorText(error)}`;
      throw this.#failure(text, cause, signal);
    });
    return { type, plugin, registration };
  }

  /** Returns the error, together with that of the undo. */
  async #undo(registration: PluginRegistration, error: unknown, signal: AbortSignal): Promise<unknown> {
    if (isAgentStopping(signal)) {
      registration.close();
      return error;
    }
    try {
      await registration.deregister(this.#deps.clock.deadline(UNDO_MS));
      return error;
    } catch (failure) {
      return new AggregateError([error, failure]);
    }
  }

  /** Sends the reason to the plugin, and throws it. */
  async #refuse(reason: string, signal: AbortSignal, cause?: unknown): Promise<never> {
    const text = `RegisterPlugin error -- ${reason}`;
    await this.#notify({ pluginRegistered: false, error: text }, signal).catch((error: unknown) => {
      const lost = `failed to send error at socket ${this.#socketPath}, err: ${text}: ${goErrorText(error)}`;
      throw this.#failure(lost, error, signal);
    });
    throw new Error(text, { cause });
  }

  async #notify(
    status: { readonly pluginRegistered: boolean; readonly error: string },
    signal: AbortSignal,
  ): Promise<void> {
    await this.#connection.call(NOTIFY, { ...status }, NOTIFY_MS, signal);
  }

  #failure(reason: string, cause: unknown, signal: AbortSignal): unknown {
    return signal.aborted ? signal.reason : new Error(`RegisterPlugin error -- ${reason}`, { cause });
  }
}
