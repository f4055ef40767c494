import type { KernelLog, KernelRecord } from '../kernel-log.ts';

/** The log of the kernel in memory. */
export class MemoryKernelLog implements KernelLog {
  readonly #readers = new Set<(record: KernelRecord) => void>();

  /** Adds a record; facility 0 is the kernel's own. */
  write(message: string, facility = 0): void {
    for (const read of [...this.#readers]) read({ facility, message });
  }

  async *records(signal: AbortSignal): AsyncGenerator<KernelRecord> {
    const unread: KernelRecord[] = [];
    let wake = (): void => undefined;
    const read = (record: KernelRecord): void => {
      unread.push(record);
      wake();
    };
    const stop = (): void => wake();
    this.#readers.add(read);
    signal.addEventListener('abort', stop, { once: true });
    try {
      while (!signal.aborted) {
        const record = unread.shift();
        if (record) {
          yield record;
          continue;
        }
        const { promise, resolve } = Promise.withResolvers<void>();
        wake = resolve;
        await promise;
      }
    } finally {
      this.#readers.delete(read);
      signal.removeEventListener('abort', stop);
    }
  }
}
