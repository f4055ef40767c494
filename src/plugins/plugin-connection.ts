import { type Client, connectivityState, Metadata } from '@grpc/grpc-js';
import { connectSocket } from '../cri/client.ts';
import { CriError } from '../cri/cri-error.ts';
import { callStream, callUnary } from '../cri/grpc-call.ts';
import type { Clock } from '../host/clock.ts';
import { pluginChannel } from './plugin-channel.ts';
import { PluginError } from './plugin-error.ts';

/** Encodes and decodes one message of a generated protocol. */
interface Codec<T> {
  encode(message: T): { finish(): Uint8Array };
  decode(bytes: Uint8Array): T;
}

/** A unary RPC of a generated service definition. */
interface RpcDefinition<Request, Response> {
  readonly name: string;
  readonly requestType: Codec<Request>;
  readonly responseType: Codec<Response>;
}

/** One RPC, with the path that gRPC calls. */
export interface PluginRpc<Request, Response> extends RpcDefinition<Request, Response> {
  /** `/csi.v1.Node/NodeStageVolume` */
  readonly path: string;
}

export function pluginRpc<Request, Response>(
  service: { readonly fullName: string },
  definition: RpcDefinition<Request, Response>,
): PluginRpc<Request, Response> {
  const { name, requestType, responseType } = definition;
  return { name, requestType, responseType, path: `/${service.fullName}/${name}` };
}

/**
 * A gRPC connection to the socket of a plugin. It connects with the first call and reconnects after a loss. A call to a
 * socket without a listener fails with `Unavailable` instead of waiting.
 */
export class PluginConnection {
  readonly #client: Client;
  readonly #clock: Clock;
  readonly #metadata = new Metadata();
  readonly #plugin: string;
  #isClosed = false;

  /** `plugin`: its driver or resource, by which its calls are counted. Throws for a path that is not absolute. */
  constructor(socketPath: string, clock: Clock, plugin: string) {
    if (!socketPath.startsWith('/'))
      throw new Error(`cannot use plugin endpoint "${socketPath}": not an absolute path`);
    this.#client = connectSocket(socketPath);
    this.#clock = clock;
    this.#plugin = plugin;
  }

  /**
   * Rejects with a `PluginError` (`DeadlineExceeded` after `timeoutMs`), or with the signal's reason after an abort.
   * `isMigrated`: the call is counted as one for a migrated volume.
   */
  async call<Request, Response>(
    rpc: PluginRpc<Request, Response>,
    request: Request,
    timeoutMs: number,
    signal: AbortSignal,
    isMigrated = false,
  ): Promise<Response> {
    signal.throwIfAborted();
    if (this.#isClosed) throw new PluginError('Canceled', 'grpc: the client connection is closing', rpc.name);
    const [client, clock, metadata] = [this.#client, this.#clock, this.#metadata];
    const beganMs = clock.monotonic();
    let code = 'OK';
    try {
      const response = await callUnary(
        { client, clock, method: erased(rpc), metadata, deadlineMs: timeoutMs },
        request,
        signal,
      );
      return response as Response; // decoded by the codec of this RPC
    } catch (error) {
      code = error instanceof CriError ? error.code : 'Canceled';
      throw toPluginError(error, rpc.name);
    } finally {
      const tookMs = clock.monotonic() - beganMs;
      pluginChannel.publish({ kind: 'called', plugin: this.#plugin, path: rpc.path, code, isMigrated, tookMs });
    }
  }

  /**
   * The messages of a stream, until the plugin ends it. Rejects with a `PluginError` when it breaks, or with the signal's
   * reason after an abort. It has no deadline.
   */
  async *stream<Request, Response>(
    rpc: PluginRpc<Request, Response>,
    request: Request,
    signal: AbortSignal,
  ): AsyncGenerator<Response, undefined> {
    signal.throwIfAborted();
    if (this.#isClosed) throw new PluginError('Canceled', 'grpc: the client connection is closing', rpc.name);
    const [client, clock, metadata] = [this.#client, this.#clock, this.#metadata];
    const options = { client, clock, method: erased(rpc), metadata, deadlineMs: undefined };
    try {
      for await (const message of callStream(options, request, signal)) yield message as Response; // as in `call`
    } catch (error) {
      throw toPluginError(error, rpc.name);
    }
  }

  /**
   * Connects without a call, and again after each loss. The listener is called when the connection is made or lost, until
   * `close`.
   */
  follow(listener: (isConnected: boolean) => void): void {
    const channel = this.#client.getChannel();
    let isConnected = false;
    const check = (): void => {
      if (this.#isClosed) return;
      const state = channel.getConnectivityState(true);
      if ((state === connectivityState.READY) !== isConnected) {
        isConnected = !isConnected;
        listener(isConnected);
      }
      channel.watchConnectivityState(state, Number.POSITIVE_INFINITY, check);
    };
    check();
  }

  /**
   * Resolves when the plugin has accepted the connection. Rejects with Go's text after `timeoutMs`, or with the signal's
   * reason after an abort.
   */
  async connect(timeoutMs: number, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    const over = new AbortController();
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    signal.addEventListener('abort', () => reject(signal.reason), { once: true, signal: over.signal });
    this.#clock.sleep(timeoutMs, over.signal).then(
      () => reject(new Error('context deadline exceeded')),
      () => {}, // connected, or aborted
    );
    // Without a deadline of its own: `close` ends it.
    this.#client.waitForReady(Number.POSITIVE_INFINITY, (error) => (error ? reject(error) : resolve()));
    try {
      await promise;
    } finally {
      over.abort(OVER);
    }
  }

  /** Calls in progress go on; later ones fail with `Canceled`. */
  close(): void {
    this.#isClosed = true;
    this.#client.close();
  }
}

function toPluginError(error: unknown, method: string): unknown {
  return error instanceof CriError ? new PluginError(error.code, error.message, method, { cause: error }) : error;
}

/** Created once: capturing a stack for each connection is expensive. */
const OVER = new Error('the wait is over');

/** The same RPC for code that does not know its messages. The requests are of the RPC's own type. */
function erased<Request, Response>(rpc: PluginRpc<Request, Response>): ErasedRpc {
  return rpc as unknown as ErasedRpc;
}

type ErasedRpc = Parameters<typeof callUnary>[0]['method'];
