import type { Clock } from '../clock.ts';
import { type Profiler, ProfilerBusyError, type SampledStacks } from '../profiler.ts';

/** Profiles of one function that a test names. */
export class MemoryProfiler implements Profiler {
  /** The function that every sample shows. */
  functionName = 'work';
  readonly #clock: Pick<Clock, 'now' | 'sleep'>;
  readonly #running = new Set<string>();

  constructor(clock: Pick<Clock, 'now' | 'sleep'>) {
    this.#clock = clock;
  }

  cpu(durationMs: number, signal: AbortSignal): Promise<SampledStacks> {
    return this.#sample('cpu', durationMs, signal);
  }

  heap(_kind: 'live' | 'all', durationMs: number, signal: AbortSignal): Promise<SampledStacks> {
    return this.#sample('heap', durationMs, signal);
  }

  async #sample(kind: string, durationMs: number, signal: AbortSignal): Promise<SampledStacks> {
    if (this.#running.has(kind)) throw new ProfilerBusyError(`${kind} profiling already in use`);
    this.#running.add(kind);
    const startedMs = this.#clock.now();
    await this.#clock.sleep(durationMs, signal).catch(() => undefined);
    this.#running.delete(kind);
    return {
      frames: [{ functionName: this.functionName, file: '/src/work.ts', line: 7 }],
      stacks: [{ frames: [0], samples: 3, amount: 3000 }],
      startedMs,
      durationMs: this.#clock.now() - startedMs,
      period: 1000,
    };
  }
}
