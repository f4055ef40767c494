import type { EventEmitter } from 'node:events';
import {
  Metadata,
  Server,
  type ServerErrorResponse,
  type ServerUnaryCall,
  type ServerWritableStream,
  type sendUnaryData,
} from '@grpc/grpc-js';
import { aborted } from '../base/aborted.ts';
import { errorText } from '../base/error-text.ts';
import { type Log, silentLog } from '../base/log.ts';
import { continueTrace } from '../base/trace-work.ts';
import type { Clock } from '../host/clock.ts';
import type { FileSystem } from '../host/file-system.ts';
import { bindPrivately, listeningServers } from './bind-privately.ts';
import { callerTraceparent } from './call-metadata.ts';
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
  /** Permission bits of the socket. Write permission allows every RPC. */
  readonly mode: number;
  readonly fs: Pick<FileSystem, 'changeMode' | 'makeDirectory' | 'remove' | 'removeTree' | 'rename'>;
  readonly clock: Pick<Clock, 'deadline'>;
  readonly log?: Pick<Log, 'warn'>;
}

/** Time limit for clients to read the last responses. Idle connections would stay open otherwise. */
const SHUTDOWN_TIMEOUT_MS = 1_000;

export interface CriServer {
  /** Ends every call with `Unavailable`. Resolves when no handler runs and the socket is removed. */
  close(): Promise<void>;
}

/** Serves CRI on a unix socket. Replaces an existing file at that path. */
export async function serveCri(options: ServeOptions, cri: Cri): Promise<CriServer> {
  const { socketPath, fs, clock, log = silentLog } = options;
  const server = new Server({
    'grpc.max_receive_message_length': 16 * 1024 * 1024,
    'grpc.max_send_message_length': -1,
  });
  const running = new RunningCalls();
  const calls = erasedCalls(cri);
  for (const method of criMethods()) register(server, method, calls, running);

  await bindPrivately(server, options);
  for (const each of listeningServers(server)) {
    each.on('error', (error: unknown) =>
      log.warn('cannot accept a CRI connection', { socketPath, error: errorText(error) }),
    );
  }
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

/** The calls in progress, each with the abort controller of its handler. */
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

function register(server: Server, method: Method, calls: CallMaker, running: RunningCalls): void {
  const serialize = (message: unknown) => Buffer.from(method.responseType.encode(message).finish());
  const deserialize = (bytes: Buffer) => method.requestType.decode(new Uint8Array(bytes));
  if (method.responseStream) {
    const stream = calls.stream(method);
    const handle = (call: ServerWritableStream<unknown, unknown>) =>
      continueTrace(
        () => callerTraceparent(call.metadata),
        () => running.answer(call, (signal) => answerStream(stream, call, signal)),
      );
    server.register(method.path, handle, serialize, deserialize, 'serverStream');
  } else {
    const unary = calls.unary(method);
    const handle = (call: ServerUnaryCall<unknown, unknown>, answer: sendUnaryData<unknown>) =>
      continueTrace(
        () => callerTraceparent(call.metadata),
        () => running.answer(call, (signal) => answerUnary(unary, call.request, answer, signal)),
      );
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
      // The handler runs now: the headers signal to the client that it misses no event.
      call.sendMetadata(new Metadata());
      for (let result = await next; !result.done; result = await next) {
        if (!call.write(result.value)) await waitForDrain(call, signal);
        next = messages.next();
      }
    } finally {
      await messages.return?.();
    }
    signal.throwIfAborted(); // the abort may have ended it
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
