import type { Client, Metadata, ServiceError } from '@grpc/grpc-js';
import { type CallLimits, watchLimits } from './call-limits.ts';
import { CriError, codeFromNumber } from './cri-error.ts';
import type { Method } from './services.ts';

export interface CallOptions extends CallLimits {
  readonly client: Client;
  readonly method: Pick<Method, 'name' | 'path' | 'requestType' | 'responseType'>;
  readonly metadata: Metadata;
}

/** Settles as soon as the signal aborts or the deadline passes, even if the server does not answer. */
export function callUnary(options: CallOptions, request: unknown, signal: AbortSignal): Promise<unknown> {
  return new Promise((resolve, reject) => {
    signal.throwIfAborted();
    const { client, method, metadata } = options;
    const call = client.makeUnaryRequest(
      method.path,
      (message) => encode(method, message),
      (bytes) => decode(method, bytes),
      request,
      metadata,
      (error, response) => {
        stopWatching();
        if (error) reject(toCriError(error, method));
        else resolve(response);
      },
    );
    const stopWatching = watchLimits(options, signal, (reason) => {
      reject(reason);
      call.cancel();
    });
  });
}

/**
 * The call lasts as long as the iteration: a consumer that leaves, even while it waits for the next message, cancels it.
 * A message is read from the connection only when there is room for it.
 */
export function callStream(options: CallOptions, request: unknown, signal: AbortSignal): AsyncIterable<unknown> {
  return {
    [Symbol.asyncIterator]() {
      const left = new AbortController();
      const messages = readStream(options, request, signal, left.signal);
      return {
        next: () => messages.next(),
        async return() {
          left.abort(); // return() of a generator would wait for the next message
          await messages.return(undefined);
          return { done: true, value: undefined };
        },
      };
    },
  };
}

async function* readStream(
  options: CallOptions,
  request: unknown,
  signal: AbortSignal,
  left: AbortSignal,
): AsyncGenerator<unknown, undefined> {
  signal.throwIfAborted();
  const { client, method, metadata } = options;
  const call = client.makeServerStreamRequest(
    method.path,
    (message) => encode(method, message),
    (bytes) => decode(method, bytes),
    request,
    metadata,
  );
  call.on('error', () => {}); // the cancel below emits an error after the iteration has ended
  let cancelled: { readonly reason: unknown } | undefined;
  const stopWatching = watchLimits(options, signal, (reason) => {
    cancelled ??= { reason };
    call.cancel();
  });
  left.addEventListener('abort', () => call.cancel(), { once: true });
  try {
    for await (const message of call) {
      if (cancelled) break;
      yield message;
    }
  } catch (error) {
    if (left.aborted) return;
    if (!cancelled) throw toCriError(error, method);
  } finally {
    stopWatching();
    call.cancel();
  }
  if (cancelled) throw cancelled.reason;
}

function encode({ requestType }: CallOptions['method'], message: unknown): Buffer {
  const bytes = requestType.encode(message).finish();
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

/** Decodes from plain bytes: messages decoded from a `Buffer` would contain `Buffer`s. */
function decode({ responseType }: CallOptions['method'], bytes: Buffer): unknown {
  return responseType.decode(new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength));
}

function toCriError(error: unknown, { name }: CallOptions['method']): CriError {
  if (!isServiceError(error)) return new CriError('Unknown', String(error), { cause: error, method: name });
  return new CriError(codeFromNumber(error.code), error.details, { cause: error, method: name });
}

function isServiceError(error: unknown): error is ServiceError {
  return error instanceof Error && 'code' in error && typeof error.code === 'number' && 'details' in error;
}
