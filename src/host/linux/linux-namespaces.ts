import { unlink } from 'node:fs/promises';
import { Worker } from 'node:worker_threads';
import { NamespaceError, type NamespaceFiles, type Namespaces } from '../namespaces.ts';
import { linuxMounts } from './linux-mounts.ts';
import { type NamespaceOrder, type NamespaceReply, READY, type ThreadData } from './namespace-protocol.ts';
import type { ThreadProgram } from './namespace-thread-entry.ts';
import { unlessMissing } from './unless-missing.ts';

/** Its program is small, and keeps nothing between two orders. */
const RESOURCE_LIMITS = { maxOldGenerationSizeMb: 24, maxYoungGenerationSizeMb: 2, stackSizeMb: 1 };

/** A fraction of this is enough. */
const LOAD_MS = 1000;

type OrderWithoutNumber = NamespaceOrder extends infer Order
  ? Order extends unknown
    ? Omit<Order, 'number'>
    : never
  : never;

/** The machine's namespaces. The thread starts with the first use, and anew when it has ended. */
export function createLinuxNamespaces(): Namespaces {
  let thread: NamespaceThread | undefined;

  async function runningThread(): Promise<NamespaceThread> {
    // In a bundle this unpacks the foreign function interface, which many commands never use.
    const { namespaceThread } = await import('./namespace-thread-entry.ts');
    if (thread === undefined || thread.hasEnded) thread = new NamespaceThread(namespaceThread);
    return thread;
  }

  async function order(asked: OrderWithoutNumber): Promise<void> {
    const reply = await (await runningThread()).order(asked);
    if (reply === 'ended') {
      await remove(pathsOf(asked.files));
      throw new NamespaceError('EIO', `${asked.kind} namespaces: the thread has ended`);
    }
    if (reply.failure === undefined) return;
    const { what, code, sysctl } = reply.failure;
    throw new NamespaceError(code, what, sysctl === undefined ? {} : { sysctl });
  }

  return {
    create: (request) => order({ kind: 'create', ...request }),
    pin: (pid, files) => order({ kind: 'pin', pid, files }),
    remove,
    // Whoever uses it next hears why it does not work.
    warmUp: () =>
      runningThread().then(
        ({ ready }) => ready,
        () => undefined,
      ),
  };
}

async function remove(files: readonly string[]): Promise<void> {
  await Promise.all(
    files.map(async (file) => {
      // A process that was just joining must not keep the file from going.
      await linuxMounts.unmount(file, { lazy: true });
      await unlessMissing(unlink(file));
    }),
  );
}

function pathsOf(files: NamespaceFiles): string[] {
  return Object.values(files);
}

/** One thread and those who wait for its answers. It keeps the process alive only while somebody waits. */
class NamespaceThread {
  readonly ready: Promise<void>;
  hasEnded = false;
  readonly #worker: Worker;
  readonly #waiting = new Map<number, (reply: NamespaceReply | 'ended') => void>();
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
    // What went wrong in it is an answer to who waits; the end itself comes as `exit`.
    this.#worker.on('error', () => {});
    this.#worker.on('exit', () => {
      this.hasEnded = true;
      for (const number of [...this.#waiting.keys()]) this.#settle(number, 'ended');
    });
  }

  order(asked: OrderWithoutNumber): Promise<NamespaceReply | 'ended'> {
    const number = ++this.#lastNumber;
    const reply = this.#reply(number);
    this.#worker.postMessage({ ...asked, number });
    return reply;
  }

  #reply(number: number): Promise<NamespaceReply | 'ended'> {
    const { promise, resolve } = Promise.withResolvers<NamespaceReply | 'ended'>();
    this.#waiting.set(number, resolve);
    this.#worker.ref();
    return promise;
  }

  #settle(number: number, reply: NamespaceReply | 'ended'): void {
    this.#waiting.get(number)?.(reply);
    this.#waiting.delete(number);
    if (this.#waiting.size === 0) this.#worker.unref();
  }
}
