import { parentPort, workerData } from 'node:worker_threads';
import { loadMutated } from './mutated-sources.ts';
import type { PoolOptions } from './pool.ts';

const options = workerData as PoolOptions;
// Nobody reads the stacks of the many errors that a world is made of, and to take them is slow.
Error.stackTraceLimit = 0;
if (options.mutation !== undefined) loadMutated(options.mutation);

// Only now: the agent is loaded as it was changed.
const { planWorld } = await import('./plan-world.ts');
const { runWorld } = await import('./run-world.ts');

parentPort?.on('message', (seed: number) => {
  void runWorld(planWorld(seed, options)).then(({ lines: _lines, ...result }) => parentPort?.postMessage(result));
});
