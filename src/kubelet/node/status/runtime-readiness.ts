import { isDeepStrictEqual } from 'node:util';
import { ExponentialBackoff } from '../../../base/exponential-backoff.ts';
import type { Log } from '../../../base/log.ts';
import type { RuntimeService } from '../../../cri/services.ts';
import type { Clock } from '../../../host/clock.ts';
import { WakeTimer } from '../wake-timer.ts';
import {
  type NodeRuntime,
  nodeRuntimeHandlers,
  type RuntimeErrors,
  runtimeErrors,
  runtimeVersionText,
  UNKNOWN_RUNTIME_ERRORS,
} from './node-runtime.ts';

/** kubelet's interval. CRI has no event for changes of the network plugin. */
const READY_MS = 5_000;
/** The interval while the runtime is not ready, so that the node becomes ready within a second. */
const NOT_READY = { firstMs: 100, maxMs: 800, jitter: 0 };
/** How long the runtime may not respond before the node is not ready. */
const SILENCE_LIMIT_MS = 30_000;

export interface RuntimeReadinessDeps {
  readonly runtime: Pick<RuntimeService, 'status' | 'version'>;
  readonly clock: Clock;
  readonly log: Log;
}

/** Monitors whether the runtime is ready. */
export class RuntimeReadiness {
  readonly #deps: RuntimeReadinessDeps;
  readonly #timer: WakeTimer;
  readonly #listeners = new Set<() => void>();
  #runtime: NodeRuntime = { version: '://Unknown', handlers: [], features: undefined };
  #errors: RuntimeErrors = UNKNOWN_RUNTIME_ERRORS;
  #readyAtMs: number | undefined;
  #knowsVersion = false;
  /**
   * The state that listeners know. It is kept because the runtime becomes unready by the passage of time alone, without
   * a new response.
   */
  #notified: readonly unknown[];

  constructor(deps: RuntimeReadinessDeps) {
    this.#deps = deps;
    this.#timer = new WakeTimer(deps.clock);
    this.#notified = [this.notReadyReasons(), this.#runtime];
  }

  /** The runtime's state when it was last ready. */
  get runtime(): NodeRuntime {
    return this.#runtime;
  }

  /** Why the node is not ready, with kubelet's messages in kubelet's order. Empty: it is. */
  notReadyReasons(): readonly string[] {
    const { runtime, network } = this.#errors;
    return [this.#heartbeatError(), runtime, network].filter((reason) => reason !== undefined);
  }

  /** Returns the function that ends the subscription. */
  subscribe(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Called when the state may have changed. */
  checkSoon(): void {
    this.#timer.wake();
  }

  async run(signal: AbortSignal): Promise<void> {
    const backoff = new ExponentialBackoff(NOT_READY);
    while (!signal.aborted) {
      await this.check(signal);
      const isReady = this.notReadyReasons().length === 0;
      if (isReady) backoff.reset();
      await this.#timer.wait(isReady ? READY_MS : backoff.next(0), signal);
    }
  }

  async check(signal: AbortSignal): Promise<void> {
    try {
      await this.#readStatus(signal);
    } catch (error) {
      if (signal.aborted) return;
      this.#knowsVersion = false;
      this.#deps.log.warn('cannot get the runtime status', { error });
    }
    const now = [this.notReadyReasons(), this.#runtime];
    if (isDeepStrictEqual(this.#notified, now)) return;
    this.#notified = now;
    for (const listener of this.#listeners) listener();
  }

  async #readStatus(signal: AbortSignal): Promise<void> {
    const { runtime, clock } = this.#deps;
    const status = await runtime.status({ verbose: false }, signal);
    this.#errors = runtimeErrors(status);
    if (this.#errors.runtime !== undefined) return;
    const version = this.#knowsVersion
      ? this.#runtime.version
      : runtimeVersionText(await runtime.version({ version: '' }, signal));
    this.#knowsVersion = true;
    const { features } = status;
    this.#runtime = {
      version,
      handlers: nodeRuntimeHandlers(status),
      features: features && { supplementalGroupsPolicy: features.supplementalGroupsPolicy },
    };
    this.#readyAtMs = clock.monotonic();
  }

  #heartbeatError(): string | undefined {
    if (this.#readyAtMs === undefined) return 'container runtime status check may not have completed yet';
    const isOver = this.#deps.clock.monotonic() - this.#readyAtMs >= SILENCE_LIMIT_MS;
    return isOver ? 'container runtime is down' : undefined;
  }
}
