import { aborted } from '../../base/aborted.ts';
import { errorText } from '../../base/error-text.ts';
import { ExponentialBackoff } from '../../base/exponential-backoff.ts';
import { KeyedMutex } from '../../base/keyed-mutex.ts';
import type { Log } from '../../base/log.ts';
import { type PluginHandlers, PluginSocketGoneError } from './plugin-handler.ts';
import { type PluginSockets, type PluginSocketsDeps, PluginSocketWatcher } from './plugin-sockets.ts';
import { type RegisteredPlugin, registerPlugin } from './register-plugin.ts';

/** kubelet's delays after a failed registration. */
const BACKOFF = { firstMs: 500, maxMs: 122_000, jitter: 0 };
/** The limit of a deregistration. */
const DEREGISTER_MS = 30_000;

export interface PluginManagerDeps extends PluginSocketsDeps {
  readonly log: Log;
  readonly handlers: PluginHandlers;
}

/**
 * Registers the plugins whose sockets are in kubelet's folder `plugins_registry`.
 *
 * 1. Each socket has its own session: a plugin that hangs delays no other.
 * 2. A session lasts until the socket is gone or replaced; the next one of the same path starts after its deregistration.
 * 3. A failed registration is retried with back-off, and logged once for each reason.
 * 4. The registrations outlive `run`; at the end of the agent's life plugins stay registered at the API server.
 */
export class PluginManager {
  readonly #deps: PluginManagerDeps;
  readonly #sockets: PluginSocketWatcher;
  readonly #life: AbortSignal;
  readonly #sessions = new Map<string, Session>();
  readonly #turns = new KeyedMutex();

  /** `rootDir` is kubelet's. */
  constructor(rootDir: string, deps: PluginManagerDeps, life: AbortSignal) {
    this.#deps = deps;
    this.#sockets = new PluginSocketWatcher(rootDir, deps);
    this.#life = life;
  }

  /** Follows the sockets until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    for await (const sockets of this.#sockets.watch(signal)) this.#reconcile(sockets);
  }

  #reconcile(sockets: PluginSockets): void {
    for (const [path, session] of this.#sessions) {
      if (sockets.get(path) === session.version) continue;
      this.#sessions.delete(path);
      session.end();
    }
    for (const [path, version] of sockets) {
      if (this.#sessions.has(path)) continue;
      const session = new Session(path, version, this.#deps, this.#life);
      this.#sessions.set(path, session);
      void this.#turns.run(path, () => session.run());
    }
  }
}

/** One socket, from its appearance until it is gone. */
class Session {
  readonly version: string;
  readonly #path: string;
  readonly #deps: PluginManagerDeps;
  readonly #life: AbortSignal;
  readonly #gone = new AbortController();
  #loggedFailure = '';

  constructor(path: string, version: string, deps: PluginManagerDeps, life: AbortSignal) {
    this.#path = path;
    this.version = version;
    this.#deps = deps;
    this.#life = life;
  }

  end(): void {
    this.#gone.abort(new PluginSocketGoneError(this.#path));
  }

  /** Resolves when the socket is gone and the plugin is deregistered, or at the end of the agent's life. */
  async run(): Promise<void> {
    const { log, clock } = this.#deps;
    const signal = AbortSignal.any([this.#life, this.#gone.signal]);
    const registered = await this.#register(signal);
    if (registered === undefined) return;
    const { type, plugin } = registered;
    log.info('registered plugin', { type, plugin: plugin.name, socket: this.#path, endpoint: plugin.endpoint });
    await aborted(signal);
    if (this.#life.aborted) return registered.registration.close();
    log.info('plugin socket is gone, deregistering the plugin', { type, plugin: plugin.name, socket: this.#path });
    const limit = AbortSignal.any([this.#life, clock.deadline(DEREGISTER_MS)]);
    await registered.registration.deregister(limit).catch((error: unknown) => {
      if (!this.#life.aborted) log.warn('cannot deregister plugin', { type, plugin: plugin.name, error });
    });
  }

  /** Tries until it succeeds; `undefined` once the signal aborts. */
  async #register(signal: AbortSignal): Promise<RegisteredPlugin | undefined> {
    const backoff = new ExponentialBackoff(BACKOFF);
    while (!signal.aborted) {
      try {
        return await registerPlugin(this.#path, this.#deps, signal);
      } catch (error) {
        if (!signal.aborted) this.#logOnce(error);
        await this.#deps.clock.sleep(backoff.next(0), signal).catch(() => undefined);
      }
    }
    return undefined;
  }

  #logOnce(error: unknown): void {
    const text = errorText(error);
    if (text === this.#loggedFailure) return;
    this.#loggedFailure = text;
    this.#deps.log.warn('cannot register plugin, retrying', { socket: this.#path, error });
  }
}
