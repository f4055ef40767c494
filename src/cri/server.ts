import type { EventEmitter } from 'node:events';
import {
  Metadata,
  Server,
  ServerCredentials,
  type ServerErrorResponse,
  type ServerUnaryCall,
  type ServerWritableStream,
  type sendUnaryData,
} from '@grpc/grpc-js';
import { aborted } from '../base/aborted.ts';
import type { Clock } from '../host/clock.ts';
import type { FileSystem } from '../host/file-system.ts';
import { CriError, codeToNumber } from './cri-error.ts';
import {
  type CallMaker,
  type Cri,
  criMethods,
  type ErasedStream,
  type ErasedUnary,
  erasedCalls,
  type Method,
} from './services.ts';

export interface ServeOptions {
  readonly socketPath: string;
  /** Permission bits of the socket; who may write to it may call every rpc. */
  readonly mode: number;
  readonly fs: Pick<FileSystem, 'changeMode' | 'rename' | 'remove'>;
  readonly clock: Pick<Clock, 'deadline'>;
}

/** How long a client may take to read the last answers; a connection on which nothing happens stays open otherwise. */
const SHUTDOWN_TIMEOUT_MS = 1_000;

export interface CriServer {
  /** Ends every call with `Unavailable`, and resolves when no handler runs any more and the socket is gone. */
  close(): Promise<void>;
}

/** Serves CRI on a unix socket, in the place of whatever lies at that path. */
export async function serveCri({ socketPath, mode, fs, clock }: ServeOptions, cri: Cri): Promise<CriServer> {
  const server = new Server({
    'grpc.max_receive_message_length': 16 * 1024 * 1024,
    'grpc.max_send_message_length': -1,
  });
  const running = new RunningCalls();
  const calls = erasedCalls(cri);
  for (const method of criMethods()) register(server, method, calls, running);

  // Bound beside its place, so that nobody can connect before the mode is set, and a stale socket is replaced at once.
  const unnamed = `${socketPath}.new`;
  await fs.remove(unnamed);
  await bind(server, unnamed);
  await fs.changeMode(unnamed, mode);
  await fs.rename(unnamed, socketPath);
  return {
    async close() {
      const closed = new Promise<void>((resolve) => server.tryShutdown(() => resolve()));
      await running.end(new CriError('Unavailable', 'the runtime is stopping'));
      await Promise.race([closed, aborted(clock.deadline(SHUTDOWN_TIMEOUT_MS))]);
      server.forceShutdown();
      await fs.remove(socketPath);
    },
  };
}

/** The calls that are being answered, each with the signal that its handler obeys. */
class RunningCalls {
  readonly #calls = new Map<AbortController, Promise<void>>();

  answer(call: EventEmitter, handle: (signal: AbortSignal) => Promise<void>): void {
    const controller = new AbortController();
    call.on('cancelled', () => controller.abort(new CriError('Canceled', 'context canceled')));
    const work = handle(controller.signal).finally(() => this.#calls.delete(controller));
    this.#calls.set(controller, work);
  }

  async end(reason: CriError): Promise<void> {
    for (const controller of this.#calls.keys()) controller.abort(reason);
    await Promise.allSettled(this.#calls.values());
  }
}

function bind(server: Server, path: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.bindAsync(`unix:${path}`, ServerCredentials.createInsecure(), (error) =>
      error ? reject(error) : resolve(),
    );
  });
}

function register(server: Server, method: Method, calls: CallMaker, running: RunningCalls): void {
  const serialize = (message: unknown) => Buffer.from(method.responseType.encode(message).finish());
  const deserialize = (bytes: Buffer) => method.requestType.decode(new Uint8Array(bytes));
  if (method.responseStream) {
    const stream = calls.stream(method);
    const handle = (call: ServerWritableStream<unknown, unknown>) =>
      running.answer(call, (signal) => answerStream(stream, call, signal));
    server.register(method.path, handle, serialize, deserialize, 'serverStream');
  } else {
    const unary = calls.unary(method);
    const handle = (call: ServerUnaryCall<unknown, unknown>, answer: sendUnaryData<unknown>) =>
      running.answer(call, (signal) => answerUnary(unary, call.request, answer, signal));
    server.register(method.path, handle, serialize, deserialize, 'unary');
  }
}

async function answerUnary(
  unary: ErasedUnary,
  request: unknown,
  answer: sendUnaryData<unknown>,
  signal: AbortSignal,
): Promise<void> {
  try {
    answer(null, await unary(request, signal));
  } catch (error) {
    answer(toGrpcError(error));
  }
}

async function answerStream(
  stream: ErasedStream,
  call: ServerWritableStream<unknown, unknown>,
  signal: AbortSignal,
): Promise<void> {
  try {
    const messages = stream(call.request, signal)[Symbol.asyncIterator]();
    try {
      let next = messages.next();
      // The handler runs now: a client that gets the headers knows that it misses nothing any more.
      call.sendMetadata(new Metadata());
      for (let result = await next; !result.done; result = await next) {
        if (!call.write(result.value)) await waitForDrain(call, signal);
        next = messages.next();
      }
    } finally {
      await messages.return?.();
    }
    signal.throwIfAborted(); // it may have ended because of this
    call.end();
  } catch (error) {
    call.emit('error', toGrpcError(error));
  }
}

function waitForDrain(call: ServerWritableStream<unknown, unknown>, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const onAbort = () => reject(signal.reason);
    signal.addEventListener('abort', onAbort, { once: true });
    call.once('drain', () => {
      signal.removeEventListener('abort', onAbort);
      resolve();
    });
    if (signal.aborted) onAbort();
  });
}

function toGrpcError(error: unknown): ServerErrorResponse {
  const code = error instanceof CriError ? error.code : 'Unknown';
  const details = error instanceof Error ? error.message : String(error);
  return Object.assign(new Error(details), { code: codeToNumber(code), details });
}
