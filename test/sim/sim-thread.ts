import { parentPort, workerData } from 'node:worker_threads';
import { loadMutated } from './mutated-sources.ts';
import type { PoolOptions } from './pool.ts';

const options = workerData as PoolOptions;
// Stack traces of the many injected errors are slow to capture and never read.
Error.stackTraceLimit = 0;
if (options.mutation !== undefined) loadMutated(options.mutation);

// Imported after the mutation is registered, so that the agent is loaded with it.
const { planWorld } = await import('./plan-world.ts');
const { runWorld } = await import('./run-world.ts');

parentPort?.on('message', (seed: number) => {
  void runWorld(planWorld(seed, options)).then(({ lines: _lines, ...result }) => parentPort?.postMessage(result));
});
