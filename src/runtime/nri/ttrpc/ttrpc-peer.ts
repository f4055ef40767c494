import { errorText } from '../../../base/error-text.ts';
import type { ByteStream } from '../../../host/network.ts';
import { Request, Response } from '../generated/ttrpc.ts';
import { FrameReader, ProtocolError } from './frame-reader.ts';
import { encodeMuxFrames, MUX_CONNECTIONS, MUX_FORMAT } from './mux-frame.ts';
import { ConnectionLostError, TTRPC_CODES, TtrpcError } from './ttrpc-error.ts';
import { encodeMessage, MAX_MESSAGE_BYTES, MESSAGE_FORMAT, MESSAGE_TYPES, type MessageHeader } from './ttrpc-frame.ts';

/** So many calls of the other side may be under way at once. */
const MOST_CALLS_SERVED = 64;

export interface TtrpcCall {
  /** `nri.pkg.api.v1alpha1.Plugin` */
  readonly service: string;
  readonly method: string;
  readonly payload: Uint8Array;
  /** What the other side is told of how long anybody waits for it. */
  readonly timeoutMs: number;
}

/** Answers what the other side asks; throws a `TtrpcError` to say which code, anything else is `unknown`. */
export type TtrpcHandler = (call: Omit<TtrpcCall, 'timeoutMs'>) => Promise<Uint8Array>;

/**
 * One socket of NRI: we call on one of its connections and are called on the other. Whatever does not keep to the
 * protocol ends it, and with it every call under way.
 */
export class TtrpcPeer {
  readonly #stream: ByteStream;
  readonly #callsOn: number;
  readonly #servesOn: number;
  readonly #handler: TtrpcHandler;
  readonly #answers = new Map<number, PromiseWithResolvers<Uint8Array>>();
  readonly #closed = Promise.withResolvers<ConnectionLostError>();
  #lost: ConnectionLostError | undefined;
  #nextStream = 1;
  #lastServed = 0;
  #serving = 0;

  constructor(stream: ByteStream, side: keyof typeof MUX_CONNECTIONS, handler: TtrpcHandler) {
    this.#stream = stream;
    this.#servesOn = MUX_CONNECTIONS[side];
    this.#callsOn = MUX_CONNECTIONS[side === 'runtime' ? 'plugin' : 'runtime'];
    this.#handler = handler;
  }

  /** Why there is no connection any more; `undefined` while there is. */
  get lost(): ConnectionLostError | undefined {
    return this.#lost;
  }

  /** Resolves when the connection is over, with the reason. */
  get closed(): Promise<ConnectionLostError> {
    return this.#closed.promise;
  }

  /** Reads until the connection is over. Never rejects. */
  async run(): Promise<void> {
    const trunk = new FrameReader(MUX_FORMAT);
    const answers = new FrameReader(MESSAGE_FORMAT);
    const requests = new FrameReader(MESSAGE_FORMAT);
    try {
      for await (const chunk of this.#stream.chunks) {
        for (const { header, payload } of trunk.push(chunk)) {
          if (header.connection === this.#callsOn) {
            for (const message of answers.push(payload)) this.#takeAnswer(message.header, message.payload);
          } else if (header.connection === this.#servesOn) {
            for (const message of requests.push(payload)) this.#takeRequest(message.header, message.payload);
          }
        }
      }
      this.close('the other side closed the connection');
    } catch (error) {
      this.close(errorText(error));
    }
  }

  /** Rejects with what the other side said, a `ConnectionLostError`, or the signal's reason. */
  async call({ service, method, payload, timeoutMs }: TtrpcCall, signal: AbortSignal): Promise<Uint8Array> {
    signal.throwIfAborted();
    if (this.#lost) throw this.#lost;
    const timeoutNano = BigInt(Math.ceil(timeoutMs)) * 1_000_000n;
    const request = Request.encode(Request.create({ service, method, payload, timeoutNano })).finish();
    if (request.byteLength > MAX_MESSAGE_BYTES) throw oversized(request.byteLength);
    const streamId = this.#nextStream;
    this.#nextStream += 2;
    const answer = Promise.withResolvers<Uint8Array>();
    this.#answers.set(streamId, answer);
    const onAbort = (): void => answer.reject(signal.reason);
    signal.addEventListener('abort', onAbort, { once: true });
    try {
      this.#send(this.#callsOn, streamId, MESSAGE_TYPES.request, request);
      return await answer.promise;
    } finally {
      signal.removeEventListener('abort', onAbort);
      this.#answers.delete(streamId); // an answer that comes later finds nobody
    }
  }

  close(reason: string): void {
    if (this.#lost) return;
    this.#lost = new ConnectionLostError(reason);
    this.#stream.close();
    for (const answer of this.#answers.values()) answer.reject(this.#lost);
    this.#closed.resolve(this.#lost);
  }

  #takeAnswer({ type, streamId }: MessageHeader, payload: Uint8Array): void {
    if (type !== MESSAGE_TYPES.response) throw new ProtocolError(`a message of type ${type} where an answer should be`);
    const { status, payload: answer } = Response.decode(payload);
    const waiting = this.#answers.get(streamId);
    if (status === undefined || status.code === 0) waiting?.resolve(answer);
    else waiting?.reject(new TtrpcError(status.code, status.message));
  }

  #takeRequest({ type, streamId }: MessageHeader, payload: Uint8Array): void {
    if (type !== MESSAGE_TYPES.request) throw new ProtocolError(`a message of type ${type} where a call should be`);
    if (streamId % 2 !== 1 || streamId <= this.#lastServed) throw new ProtocolError(`stream ${streamId} out of order`);
    this.#lastServed = streamId;
    void this.#answer(streamId, Request.decode(payload));
  }

  async #answer(streamId: number, request: Request): Promise<void> {
    this.#serving++;
    const response = await this.#responseTo(request).catch(failureResponse);
    this.#serving--;
    const bytes = Response.encode(response).finish();
    const fitting =
      bytes.byteLength <= MAX_MESSAGE_BYTES
        ? bytes
        : Response.encode(failureResponse(oversized(bytes.byteLength))).finish();
    this.#send(this.#servesOn, streamId, MESSAGE_TYPES.response, fitting);
  }

  async #responseTo(request: Request): Promise<Response> {
    if (this.#serving > MOST_CALLS_SERVED) {
      throw new TtrpcError(TTRPC_CODES.resourceExhausted, `more than ${MOST_CALLS_SERVED} calls at once`);
    }
    return Response.create({ payload: await this.#handler(request) });
  }

  #send(connection: number, streamId: number, type: number, payload: Uint8Array): void {
    if (this.#lost) return;
    const message = encodeMessage({ streamId, type, flags: 0 }, payload);
    this.#stream.write(encodeMuxFrames(connection, message)).catch((error: unknown) => this.close(errorText(error)));
  }
}

function failureResponse(error: unknown): Response {
  const code = error instanceof TtrpcError ? error.code : TTRPC_CODES.unknown;
  return Response.create({ status: { code, message: errorText(error) } });
}

function oversized(length: number): TtrpcError {
  return new TtrpcError(
    TTRPC_CODES.resourceExhausted,
    `a message of ${length} bytes; at most ${MAX_MESSAGE_BYTES} are allowed`,
  );
}
