import { errorText } from '../../base/error-text.ts';
import type { Log } from '../../base/log.ts';
import { CriError } from '../../cri/cri-error.ts';
import type { Clock } from '../../host/clock.ts';
import {
  callPlugin,
  type EventMethod,
  hasEvent,
  METHOD_EVENTS,
  methodName,
  type PluginMethod,
  type RequestOf,
  type ResponseOf,
  stateChange,
} from './plugin-calls.ts';
import { fullName, type PluginName } from './plugin-name.ts';
import { TTRPC_CODES, TtrpcError } from './ttrpc/ttrpc-error.ts';
import type { TtrpcPeer } from './ttrpc/ttrpc-peer.ts';

export interface PluginDeps {
  readonly clock: Clock;
  readonly log: Log;
  readonly requestTimeoutMs: number;
}

/** A registered and configured plugin. */
export class NriPlugin {
  readonly id: PluginName;
  readonly name: string;
  readonly #events: number;
  readonly #peer: TtrpcPeer;
  readonly #deps: PluginDeps;
  /** Methods that the plugin does not implement and receives as `StateChange`. */
  readonly #viaStateChange = new Set<EventMethod>();

  constructor(id: PluginName, events: number, peer: TtrpcPeer, deps: PluginDeps) {
    this.id = id;
    this.name = fullName(id);
    this.#events = events;
    this.#peer = peer;
    this.#deps = deps;
  }

  get isLost(): boolean {
    return this.#peer.lost !== undefined;
  }

  get closed(): Promise<unknown> {
    return this.#peer.closed;
  }

  wants(method: EventMethod): boolean {
    return !this.isLost && hasEvent(this.#events, METHOD_EVENTS[method]);
  }

  /**
   * Calls the plugin. Returns `undefined` if it did not subscribe to this, or if it was disconnected because it did not
   * respond. Rejects with `CriError` if it rejects the request, and with the signal's reason.
   */
  async request<M extends EventMethod>(
    method: M,
    request: RequestOf<M>,
    signal: AbortSignal,
  ): Promise<ResponseOf<M> | undefined> {
    if (!this.wants(method)) return undefined;
    try {
      return await this.#send(method, request, signal);
    } catch (error) {
      signal.throwIfAborted(); // the caller's time-out is not an error of the plugin
      if (error instanceof TtrpcError) {
        const message = `NRI plugin ${this.name} rejected ${methodName(method)}: ${error.message}`;
        throw new CriError('Unknown', message, { cause: error });
      }
      this.#deps.log.error('NRI plugin does not respond; disconnecting', {
        plugin: this.name,
        request: methodName(method),
        error,
      });
      this.close(errorText(error));
      return undefined;
    }
  }

  /** Calls the plugin whether it subscribed or not; rejects with any error. */
  call<M extends PluginMethod>(method: M, request: RequestOf<M>, signal: AbortSignal): Promise<ResponseOf<M>> {
    const { clock, requestTimeoutMs: timeoutMs } = this.#deps;
    const until = AbortSignal.any([signal, clock.deadline(timeoutMs)]);
    return callPlugin(this.#peer, method, request, { timeoutMs, signal: until });
  }

  close(reason: string): void {
    this.#peer.close(reason);
  }

  async #send<M extends EventMethod>(
    method: M,
    request: RequestOf<M>,
    signal: AbortSignal,
  ): Promise<ResponseOf<M> | undefined> {
    if (!this.#viaStateChange.has(method)) {
      try {
        return await this.call(method, request, signal);
      } catch (error) {
        const isMissing = error instanceof TtrpcError && error.code === TTRPC_CODES.unimplemented;
        if (!isMissing || stateChange(method, request) === undefined) throw error;
        this.#viaStateChange.add(method);
      }
    }
    const change = stateChange(method, request);
    if (change) await this.call('stateChange', change, signal);
    return undefined;
  }
}
