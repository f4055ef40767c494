import { isDeepStrictEqual } from 'node:util';
import { ExponentialBackoff } from '../../../base/exponential-backoff.ts';
import type { Log } from '../../../base/log.ts';
import type { RuntimeService } from '../../../cri/services.ts';
import type { Clock } from '../../../host/clock.ts';
import { Alarm } from '../wake-timer.ts';
import {
  type NodeRuntime,
  nodeRuntimeHandlers,
  type RuntimeTroubles,
  runtimeTroubles,
  runtimeVersionText,
  UNKNOWN_TROUBLES,
} from './node-runtime.ts';

/** As often as kubelet asks. CRI has no event for a network plugin that comes or goes. */
const READY_MS = 5_000;
/** Until it is ready, so that the node follows within a second. */
const NOT_READY = { firstMs: 100, maxMs: 800, jitter: 0 };
/** How long a runtime may be silent before the node is not ready. */
const PATIENCE_MS = 30_000;

export interface RuntimeReadinessDeps {
  readonly runtime: Pick<RuntimeService, 'status' | 'version'>;
  readonly clock: Clock;
  readonly log: Log;
}

/** The only one who knows whether the runtime lets the node be ready. */
export class RuntimeReadiness {
  readonly #deps: RuntimeReadinessDeps;
  readonly #alarm: Alarm;
  readonly #listeners = new Set<() => void>();
  #runtime: NodeRuntime = { version: '://Unknown', handlers: [], features: undefined };
  #troubles: RuntimeTroubles = UNKNOWN_TROUBLES;
  #readyAtMs: number | undefined;
  #knowsVersion = false;
  /** What listeners know. Silence becomes trouble by time alone, so what was so a moment ago says nothing of that. */
  #told: readonly unknown[];

  constructor(deps: RuntimeReadinessDeps) {
    this.#deps = deps;
    this.#alarm = new Alarm(deps.clock);
    this.#told = [this.troubles(), this.#runtime];
  }

  /** As of the last time that it was ready. */
  get runtime(): NodeRuntime {
    return this.#runtime;
  }

  /** Why no pod can run, in kubelet's words and order; none when they can. */
  troubles(): readonly string[] {
    const { runtime, network } = this.#troubles;
    return [this.#silence(), runtime, network].filter((trouble) => trouble !== undefined);
  }

  /** Returns the function that ends the subscription. */
  subscribe(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** There is reason to believe that something has changed. */
  lookAgain(): void {
    this.#alarm.ring();
  }

  async run(signal: AbortSignal): Promise<void> {
    const pause = new ExponentialBackoff(NOT_READY);
    while (!signal.aborted) {
      await this.look(signal);
      const isReady = this.troubles().length === 0;
      if (isReady) pause.reset();
      await this.#alarm.wait(isReady ? READY_MS : pause.next(0), signal);
    }
  }

  async look(signal: AbortSignal): Promise<void> {
    try {
      await this.#ask(signal);
    } catch (error) {
      if (signal.aborted) return;
      this.#knowsVersion = false;
      this.#deps.log.warn('cannot ask the runtime for its status', { error });
    }
    const now = [this.troubles(), this.#runtime];
    if (isDeepStrictEqual(this.#told, now)) return;
    this.#told = now;
    for (const listener of this.#listeners) listener();
  }

  async #ask(signal: AbortSignal): Promise<void> {
    const { runtime, clock } = this.#deps;
    const status = await runtime.status({ verbose: false }, signal);
    this.#troubles = runtimeTroubles(status);
    if (this.#troubles.runtime !== undefined) return;
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

  #silence(): string | undefined {
    if (this.#readyAtMs === undefined) return 'container runtime status check may not have completed yet';
    const isOver = this.#deps.clock.monotonic() - this.#readyAtMs >= PATIENCE_MS;
    return isOver ? 'container runtime is down' : undefined;
  }
}
