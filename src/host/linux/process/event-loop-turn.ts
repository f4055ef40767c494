/**
 * Resolves in the next turn of the event loop, when every microtask and every `process.nextTick` that was waiting has
 * run, and everything that these started. Virtual time is built on it.
 */
export function eventLoopTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
