import { Worker } from 'node:worker_threads';
import { NamespaceError } from '../../namespaces.ts';
import { type NamespaceReply, type NamespaceRequest, READY, type ThreadData } from './namespace-protocol.ts';
import type { ThreadProgram } from './namespace-thread-entry.ts';

/** The thread's program is small and keeps nothing between two requests. */
const RESOURCE_LIMITS = { maxOldGenerationSizeMb: 24, maxYoungGenerationSizeMb: 2, stackSizeMb: 1 };

/** Loading takes a fraction of this. */
const LOAD_MS = 1000;

type WithoutNumber<Request> = Request extends unknown ? Omit<Request, 'number'> : never;
export type NamespaceOperation = WithoutNumber<NamespaceRequest>;

/** The only thread that enters other namespaces. It starts with the first request, and again after it has ended. */
export interface NamespaceThreadClient {
  /** Rejects with a `NamespaceError`: with a `ThreadEndedError` when it is unknown how far the operation came. */
  request(operation: NamespaceOperation): Promise<NamespaceReply>;
  /** Resolves when the thread has started, or has failed to: the next request then rejects with the reason. */
  warmUp(): Promise<void>;
}

export class ThreadEndedError extends NamespaceError {
  constructor(operation: NamespaceOperation, cause: unknown) {
    super('EIO', `${operation.kind}: the namespace thread has ended`, { cause });
  }
}

export function createNamespaceThreadClient(): NamespaceThreadClient {
  let thread: NamespaceThread | undefined;

  async function runningThread(): Promise<NamespaceThread> {
    // In a bundle this unpacks the foreign function interface, which many commands never use.
    const { namespaceThread } = await import('./namespace-thread-entry.ts');
    if (thread === undefined || thread.hasEnded) thread = new NamespaceThread(namespaceThread);
    return thread;
  }

  return {
    async request(operation) {
      const reply = await (await runningThread()).request(operation);
      if ('ended' in reply) throw new ThreadEndedError(operation, reply.ended);
      if (reply.error === undefined) return reply;
      const { step, code, sysctl } = reply.error;
      throw new NamespaceError(code, step, sysctl === undefined ? {} : { sysctl });
    },
    warmUp: () =>
      runningThread().then(
        ({ ready }) => ready,
        () => undefined,
      ),
  };
}

/** `ended`: the error that ended the thread, where it is known. */
type Reply = NamespaceReply | { readonly ended: unknown };

/** One thread and the pending requests. It keeps the process alive only while a request is pending. */
class NamespaceThread {
  readonly ready: Promise<void>;
  hasEnded = false;
  readonly #worker: Worker;
  readonly #pending = new Map<number, (reply: Reply) => void>();
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
    // koffi's native part aborts the process when it is interrupted while it is being loaded.
    const beforeExit = (): unknown => Atomics.wait(loaded, 0, 0, LOAD_MS);
    process.once('exit', beforeExit);
    this.ready = this.#reply(READY).then(() => {
      process.removeListener('exit', beforeExit);
    });
    this.#worker.on('message', (reply: NamespaceReply) => this.#settle(reply.number, reply));
    let cause: unknown;
    this.#worker.on('error', (error) => {
      cause = error; // followed by 'exit'
    });
    this.#worker.on('exit', () => {
      this.hasEnded = true;
      for (const number of [...this.#pending.keys()]) this.#settle(number, { ended: cause });
    });
  }

  request(operation: NamespaceOperation): Promise<Reply> {
    const number = ++this.#lastNumber;
    const reply = this.#reply(number);
    this.#worker.postMessage({ ...operation, number });
    return reply;
  }

  #reply(number: number): Promise<Reply> {
    const { promise, resolve } = Promise.withResolvers<Reply>();
    this.#pending.set(number, resolve);
    this.#worker.ref();
    return promise;
  }

  #settle(number: number, reply: Reply): void {
    this.#pending.get(number)?.(reply);
    this.#pending.delete(number);
    if (this.#pending.size === 0) this.#worker.unref();
  }
}
