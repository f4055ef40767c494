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

/** As often as kubelet asks. CRI has no event for a network plugin that comes or goes. */
const READY_MS = 5_000;
/** Until it is ready, so that the node follows within a second. */
const NOT_READY = { firstMs: 100, maxMs: 800, jitter: 0 };
/** How long a runtime may be silent before the node is not ready. */
const SILENCE_LIMIT_MS = 30_000;

export interface RuntimeReadinessDeps {
  readonly runtime: Pick<RuntimeService, 'status' | 'version'>;
  readonly clock: Clock;
  readonly log: Log;
}

/** The only one who knows whether the runtime lets the node be ready. */
export class RuntimeReadiness {
  readonly #deps: RuntimeReadinessDeps;
  readonly #timer: WakeTimer;
  readonly #listeners = new Set<() => void>();
  #runtime: NodeRuntime = { version: '://Unknown', handlers: [], features: undefined };
  #errors: RuntimeErrors = UNKNOWN_RUNTIME_ERRORS;
  #readyAtMs: number | undefined;
  #knowsVersion = false;
  /** What listeners know. Silence becomes trouble by time alone, so what was so a moment ago says nothing of that. */
  #notified: readonly unknown[];

  constructor(deps: RuntimeReadinessDeps) {
    this.#deps = deps;
    this.#timer = new WakeTimer(deps.clock);
    this.#notified = [this.notReadyReasons(), this.#runtime];
  }

  /** As of the last time that it was ready. */
  get runtime(): NodeRuntime {
    return this.#runtime;
  }

  /** Why no pod can run, in kubelet's words and order; none when they can. */
  notReadyReasons(): readonly string[] {
    const { runtime, network } = this.#errors;
    return [this.#heartbeatError(), runtime, network].filter((trouble) => trouble !== undefined);
  }

  /** Returns the function that ends the subscription. */
  subscribe(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** There is reason to believe that something has changed. */
  checkSoon(): void {
    this.#timer.wake();
  }

  async run(signal: AbortSignal): Promise<void> {
    const pause = new ExponentialBackoff(NOT_READY);
    while (!signal.aborted) {
      await this.check(signal);
      const isReady = this.notReadyReasons().length === 0;
      if (isReady) pause.reset();
      await this.#timer.wait(isReady ? READY_MS : pause.next(0), signal);
    }
  }

  async check(signal: AbortSignal): Promise<void> {
    try {
      await this.#readStatus(signal);
    } catch (error) {
      if (signal.aborted) return;
      this.#knowsVersion = false;
      this.#deps.log.warn('cannot ask the runtime for its status', { error });
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
