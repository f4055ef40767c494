import type { Fifos } from '../fifos.ts';
import { unlessAborted } from './unless-aborted.ts';

/** FIFOs in memory; a test is the program at the other end. */
export class MemoryFifos implements Fifos {
  readonly #held = new Map<string, { readonly written: string[]; readonly end: PromiseWithResolvers<void> }>();

  /** Somebody opens it for both directions. */
  hold(path: string): void {
    if (!this.#held.has(path)) this.#held.set(path, { written: [], end: Promise.withResolvers() });
  }

  /** … and closes it; what was written to it is what it has read. */
  release(path: string): string {
    const fifo = this.#held.get(path);
    this.#held.delete(path);
    fifo?.end.resolve();
    return fifo?.written.join('') ?? '';
  }

  async untilWritersClose(path: string, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    const fifo = this.#held.get(path);
    if (fifo) await unlessAborted(fifo.end.promise, signal);
  }

  async write(path: string, data: string): Promise<boolean> {
    const fifo = this.#held.get(path);
    fifo?.written.push(data);
    return fifo !== undefined;
  }
}
