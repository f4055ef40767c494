import { availableParallelism } from 'node:os';
import { Worker } from 'node:worker_threads';
import type { PlanOptions } from './plan-world.ts';
import type { WorldResult } from './run-world.ts';

/** At least two threads, otherwise one per core. */
export const THREADS = Math.max(2, availableParallelism());

export interface PoolOptions extends PlanOptions {
  /** The mutation that the agent is loaded with. */
  readonly mutation?: string;
}

/** The result that a thread returns for each world, without the trace. */
export type SeedResult = Omit<WorldResult, 'lines'>;

/** Runs the worlds of these seeds in `threads` threads; `onResult` returns whether to continue. */
export async function runSeeds(
  seeds: readonly number[],
  options: PoolOptions,
  onResult: (result: SeedResult) => boolean,
  threads = THREADS,
): Promise<void> {
  const waiting = [...seeds];
  const count = Math.min(threads, waiting.length);
  await Promise.all(Array.from({ length: count }, () => runThread(waiting, options, onResult)));
}

function runThread(waiting: number[], options: PoolOptions, onResult: (result: SeedResult) => boolean): Promise<void> {
  const worker = new Worker(new URL('./sim-thread.ts', import.meta.url), {
    workerData: options,
    resourceLimits: { maxYoungGenerationSizeMb: 64 }, // worlds allocate many short-lived objects
  });
  return new Promise((resolve, reject) => {
    const next = (): void => {
      const seed = waiting.shift();
      if (seed === undefined) void worker.terminate().then(() => resolve());
      else worker.postMessage(seed);
    };
    worker.on('error', reject);
    worker.on('message', (result: SeedResult) => {
      if (!onResult(result)) waiting.length = 0;
      next();
    });
    next();
  });
}
