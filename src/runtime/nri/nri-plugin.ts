import type { Log } from '../../base/log.ts';
import { errorText } from '../../base/error-text.ts';
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

/** A plugin that has registered and said what it wants to hear. */
export class NriPlugin {
  readonly id: PluginName;
  readonly name: string;
  readonly #events: number;
  readonly #peer: TtrpcPeer;
  readonly #deps: PluginDeps;
  /** What it has no method for, and is told as a change of state. */
  readonly #oldWays = new Set<EventMethod>();

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
   * What it answers; `undefined` when it did not subscribe to this, or when it is let go because it did not answer.
   * Rejects with a `CriError` when it refuses, and with the signal's reason.
   */
  async ask<M extends EventMethod>(
    method: M,
    request: RequestOf<M>,
    signal: AbortSignal,
  ): Promise<ResponseOf<M> | undefined> {
    if (!this.wants(method)) return undefined;
    try {
      return await this.#tell(method, request, signal);
    } catch (error) {
      signal.throwIfAborted(); // whose time is over is not this plugin's fault
      if (error instanceof TtrpcError) {
        const message = `NRI plugin ${this.name} refuses ${methodName(method)}: ${error.message}`;
        throw new CriError('Unknown', message, { cause: error });
      }
      this.#deps.log.error('let NRI plugin go that does not answer', {
        plugin: this.name,
        request: methodName(method),
        error,
      });
      this.close(errorText(error));
      return undefined;
    }
  }

  /** Whether it subscribed or not; rejects whatever goes wrong. */
  call<M extends PluginMethod>(method: M, request: RequestOf<M>, signal: AbortSignal): Promise<ResponseOf<M>> {
    const { clock, requestTimeoutMs: timeoutMs } = this.#deps;
    const until = AbortSignal.any([signal, clock.deadline(timeoutMs)]);
    return callPlugin(this.#peer, method, request, { timeoutMs, signal: until });
  }

  close(reason: string): void {
    this.#peer.close(reason);
  }

  async #tell<M extends EventMethod>(
    method: M,
    request: RequestOf<M>,
    signal: AbortSignal,
  ): Promise<ResponseOf<M> | undefined> {
    if (!this.#oldWays.has(method)) {
      try {
        return await this.call(method, request, signal);
      } catch (error) {
        const isMissing = error instanceof TtrpcError && error.code === TTRPC_CODES.unimplemented;
        if (!isMissing || stateChange(method, request) === undefined) throw error;
        this.#oldWays.add(method);
      }
    }
    const change = stateChange(method, request);
    if (change) await this.call('stateChange', change, signal);
    return undefined;
  }
}
