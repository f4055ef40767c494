import { join } from 'node:path/posix';
import { KeyedMutex } from '../../base/keyed-mutex.ts';
import type { Log } from '../../base/log.ts';
import type { Clock } from '../../host/clock.ts';
import type { RegisterRequest } from '../generated/deviceplugin-v1beta1.ts';
import { pluginChannel } from '../plugin-channel.ts';
import { goErrorText } from '../plugin-error.ts';
import type { FoundPlugin, PluginHandler, PluginRegistration } from '../registration/plugin-handler.ts';
import { checkFoundPlugin, checkRequest } from './check-registration.ts';
import type { DevicePlugin, DevicePluginReceiver } from './device-plugin.ts';
import { DevicePluginConnection } from './grpc-device-plugin.ts';

export interface DeviceRegistrationDeps {
  readonly clock: Clock;
  readonly log: Log;
  readonly receiver: DevicePluginReceiver;
  /** The folder of sockets that plugins name in requests: `<root>/device-plugins`. */
  readonly folder: string;
}

/**
 * The device plugins of the node: those that send a request to `kubelet.sock`, and those whose sockets are found in
 * `plugins_registry`.
 *
 * 1. One plugin for each resource. One that registers the same resource replaces the earlier one, whose devices stay
 *    until it has reported its own.
 * 2. A plugin that cannot be used is not registered; an earlier one of the resource stays.
 * 3. A plugin whose stream of devices ends is disconnected. It is not called again before it registers anew.
 */
export class DevicePluginRegistration implements PluginHandler {
  readonly #deps: DeviceRegistrationDeps;
  readonly #life: AbortSignal;
  readonly #sessions = new Map<string, DeviceSession>();
  readonly #turns = new KeyedMutex();

  constructor(deps: DeviceRegistrationDeps, life: AbortSignal) {
    this.#deps = deps;
    this.#life = life;
  }

  /** A request on `kubelet.sock`. Rejects with kubelet's text. */
  async registerByRequest(request: RegisterRequest, signal: AbortSignal): Promise<void> {
    const { resourceName, endpoint } = request;
    const { log, folder } = this.#deps;
    pluginChannel.publish({ kind: 'deviceRegistration', resource: resourceName });
    log.info('device plugin requests its registration', { resource: resourceName, endpoint });
    try {
      checkRequest(request);
      await this.#start(resourceName, join(folder, endpoint), signal);
    } catch (error) {
      if (!signal.aborted) log.warn('cannot register device plugin', { resource: resourceName, endpoint, error });
      throw error;
    }
  }

  validate({ name, supportedVersions }: FoundPlugin): void {
    checkFoundPlugin(name, supportedVersions);
  }

  async register({ name, endpoint }: FoundPlugin, signal: AbortSignal): Promise<PluginRegistration> {
    const session = await this.#start(name, endpoint, signal);
    return { deregister: async () => session.disconnect(), close: () => session.close() };
  }

  #start(resourceName: string, socketPath: string, signal: AbortSignal): Promise<DeviceSession> {
    return this.#turns.run(resourceName, async () => {
      const until = AbortSignal.any([signal, this.#life]);
      until.throwIfAborted();
      const connection = new DevicePluginConnection(resourceName, socketPath, this.#deps.clock);
      try {
        await connection.connect(until).catch((error: unknown) => {
          throw new Error(`failed to dial device plugin: ${goErrorText(error)}`, { cause: error });
        });
        const plugin = await connection.plugin(until).catch((error: unknown) => {
          throw new Error(`failed to get device plugin options: ${goErrorText(error)}`, { cause: error });
        });
        return this.#replace(plugin, connection);
      } catch (error) {
        connection.close();
        throw error;
      }
    });
  }

  #replace(plugin: DevicePlugin, connection: DevicePluginConnection): DeviceSession {
    const { resourceName } = plugin;
    const { receiver, log } = this.#deps;
    this.#sessions.get(resourceName)?.close();
    const session: DeviceSession = new DeviceSession(plugin, connection, {
      receiver,
      log,
      onEnd: () => {
        if (this.#sessions.get(resourceName) === session) this.#sessions.delete(resourceName);
      },
    });
    this.#sessions.set(resourceName, session);
    receiver.connected(plugin);
    log.info('registered device plugin', { resource: resourceName });
    void session.run(this.#life);
    return session;
  }
}

interface SessionDeps {
  readonly receiver: DevicePluginReceiver;
  readonly log: Log;
  readonly onEnd: () => void;
}

/** One plugin, from its registration until its stream ends or another one replaces it. */
class DeviceSession {
  readonly #plugin: DevicePlugin;
  readonly #connection: DevicePluginConnection;
  readonly #deps: SessionDeps;
  readonly #over = new AbortController();

  constructor(plugin: DevicePlugin, connection: DevicePluginConnection, deps: SessionDeps) {
    this.#plugin = plugin;
    this.#connection = connection;
    this.#deps = deps;
  }

  async run(life: AbortSignal): Promise<void> {
    const { receiver, log } = this.#deps;
    const resource = this.#plugin.resourceName;
    const signal = AbortSignal.any([life, this.#over.signal]);
    try {
      for await (const devices of this.#connection.listAndWatch(signal)) {
        if (signal.aborted) break;
        receiver.reported(this.#plugin, devices);
      }
      if (!signal.aborted) log.warn('device plugin has ended its list of devices', { resource });
    } catch (error) {
      if (!signal.aborted) log.warn('device plugin lost', { resource, error });
    }
    if (life.aborted) this.close();
    else this.disconnect();
  }

  /** The plugin has gone. */
  disconnect(): void {
    if (this.#over.signal.aborted) return;
    this.close();
    this.#deps.receiver.disconnected(this.#plugin);
  }

  /** The agent stops, or another plugin has replaced this one. */
  close(): void {
    if (this.#over.signal.aborted) return;
    this.#over.abort(OVER);
    this.#connection.close();
    this.#deps.onEnd();
  }
}

/** Created once: capturing a stack for each session is expensive. */
const OVER = new Error('the device plugin was replaced or has gone');
