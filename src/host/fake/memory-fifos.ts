import type { Fifos } from '../fifos.ts';
import { unlessAborted } from './unless-aborted.ts';

/** In-memory FIFOs; the test is the program at the other end. */
export class MemoryFifos implements Fifos {
  readonly #held = new Map<string, { readonly written: string[]; readonly end: PromiseWithResolvers<void> }>();

  /** Opens a FIFO for reading and writing, as another program. */
  hold(path: string): void {
    if (!this.#held.has(path)) this.#held.set(path, { written: [], end: Promise.withResolvers() });
  }

  /** Closes it; returns what was written to it. */
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
