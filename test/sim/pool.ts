import { availableParallelism } from 'node:os';
import { Worker } from 'node:worker_threads';
import type { PlanOptions } from './plan-world.ts';
import type { WorldResult } from './run-world.ts';

/** Two cores are what the simulator is made for; more would only be faster. */
const THREADS = Math.max(2, availableParallelism());

export interface PoolOptions extends PlanOptions {
  /** The change that the agent is loaded with. */
  readonly mutation?: string;
}

/** What a thread tells of each world; its trace only if something is wrong with it. */
export type SeedResult = Omit<WorldResult, 'lines'>;

/** Runs the worlds of these seeds on all cores; `onResult` answers whether to go on. */
export async function runSeeds(
  seeds: readonly number[],
  options: PoolOptions,
  onResult: (result: SeedResult) => boolean,
): Promise<void> {
  const waiting = [...seeds];
  const threads = Math.min(THREADS, waiting.length);
  await Promise.all(Array.from({ length: threads }, () => runThread(waiting, options, onResult)));
}

function runThread(waiting: number[], options: PoolOptions, onResult: (result: SeedResult) => boolean): Promise<void> {
  const worker = new Worker(new URL('./sim-thread.ts', import.meta.url), {
    workerData: options,
    resourceLimits: { maxYoungGenerationSizeMb: 64 }, // worlds make much that does not last
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
