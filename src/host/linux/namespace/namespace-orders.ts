import { Worker } from 'node:worker_threads';
import { NamespaceError } from '../../namespaces.ts';
import { type NamespaceOrder, type NamespaceReply, READY, type ThreadData } from './namespace-protocol.ts';
import type { ThreadProgram } from './namespace-thread-entry.ts';

/** Its program is small, and keeps nothing between two orders. */
const RESOURCE_LIMITS = { maxOldGenerationSizeMb: 24, maxYoungGenerationSizeMb: 2, stackSizeMb: 1 };

/** A fraction of this is enough. */
const LOAD_MS = 1000;

type WithoutNumber<Order> = Order extends unknown ? Omit<Order, 'number'> : never;
export type OrderToThread = WithoutNumber<NamespaceOrder>;

/** The one thread of ours that goes to other namespaces. It starts with the first order, and anew when it has ended. */
export interface NamespaceOrders {
  /** Rejects with a `NamespaceError`: a `ThreadEndedError` when nobody knows how far it came. */
  give(order: OrderToThread): Promise<NamespaceReply>;
  /** Resolves when the thread is up, or cannot be: whoever gives the next order hears why. */
  warmUp(): Promise<void>;
}

export class ThreadEndedError extends NamespaceError {
  constructor(order: OrderToThread, cause: unknown) {
    super('EIO', `${order.kind}: the thread for namespaces has ended`, { cause });
  }
}

export function createNamespaceOrders(): NamespaceOrders {
  let thread: NamespaceThread | undefined;

  async function runningThread(): Promise<NamespaceThread> {
    // In a bundle this unpacks the foreign function interface, which many commands never use.
    const { namespaceThread } = await import('./namespace-thread-entry.ts');
    if (thread === undefined || thread.hasEnded) thread = new NamespaceThread(namespaceThread);
    return thread;
  }

  return {
    async give(order) {
      const reply = await (await runningThread()).order(order);
      if ('ended' in reply) throw new ThreadEndedError(order, reply.ended);
      if (reply.failure === undefined) return reply;
      const { what, code, sysctl } = reply.failure;
      throw new NamespaceError(code, what, sysctl === undefined ? {} : { sysctl });
    },
    warmUp: () =>
      runningThread().then(
        ({ ready }) => ready,
        () => undefined,
      ),
  };
}

/** Why it has ended, where that is known. */
type Reply = NamespaceReply | { readonly ended: unknown };

/** One thread and those who wait for its answers. It keeps the process alive only while somebody waits. */
class NamespaceThread {
  readonly ready: Promise<void>;
  hasEnded = false;
  readonly #worker: Worker;
  readonly #waiting = new Map<number, (reply: Reply) => void>();
  #lastNumber = READY;

  constructor({ program, data }: ThreadProgram) {
    const loaded = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
    const isText = !(program instanceof URL);
    this.#worker = new Worker(isText ? program.text : program, {
      name: 'namespaces',
      eval: isText,
      workerData: { ...data, loaded } satisfies ThreadData,
      env: {},
      execArgv: [],
      resourceLimits: RESOURCE_LIMITS,
    });
    // The native part of the foreign function interface aborts the process when it is interrupted while it is loaded.
    const beforeExit = (): unknown => Atomics.wait(loaded, 0, 0, LOAD_MS);
    process.once('exit', beforeExit);
    this.ready = this.#reply(READY).then(() => {
      process.removeListener('exit', beforeExit);
    });
    this.#worker.on('message', (reply: NamespaceReply) => this.#settle(reply.number, reply));
    let why: unknown;
    this.#worker.on('error', (error) => {
      why = error; // followed by 'exit'
    });
    this.#worker.on('exit', () => {
      this.hasEnded = true;
      for (const number of [...this.#waiting.keys()]) this.#settle(number, { ended: why });
    });
  }

  order(asked: OrderToThread): Promise<Reply> {
    const number = ++this.#lastNumber;
    const reply = this.#reply(number);
    this.#worker.postMessage({ ...asked, number });
    return reply;
  }

  #reply(number: number): Promise<Reply> {
    const { promise, resolve } = Promise.withResolvers<Reply>();
    this.#waiting.set(number, resolve);
    this.#worker.ref();
    return promise;
  }

  #settle(number: number, reply: Reply): void {
    this.#waiting.get(number)?.(reply);
    this.#waiting.delete(number);
    if (this.#waiting.size === 0) this.#worker.unref();
  }
}
