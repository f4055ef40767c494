import { errorText } from '../../../base/error-text.ts';
import type { ByteStream } from '../../../host/network.ts';
import { Request, Response } from '../generated/ttrpc.ts';
import { FrameReader, ProtocolError } from './frame-reader.ts';
import { encodeMuxFrames, MUX_CONNECTIONS, MUX_FORMAT } from './mux-frame.ts';
import { ConnectionLostError, TTRPC_CODES, TtrpcError } from './ttrpc-error.ts';
import { encodeMessage, MAX_MESSAGE_BYTES, MESSAGE_FORMAT, MESSAGE_TYPES, type MessageHeader } from './ttrpc-frame.ts';

/** Limit for concurrent calls of the peer. */
const MAX_CALLS = 64;

export interface TtrpcCall {
  /** `nri.pkg.api.v1alpha1.Plugin` */
  readonly service: string;
  readonly method: string;
  readonly payload: Uint8Array;
  /** The time-out that the peer is sent. */
  readonly timeoutMs: number;
}

/** Handles calls of the peer. A `TtrpcError` sets the code; any other error is `unknown`. */
export type TtrpcHandler = (call: Omit<TtrpcCall, 'timeoutMs'>) => Promise<Uint8Array>;

/**
 * One NRI socket: this side calls on one connection and serves the other. A protocol violation closes the socket and
 * fails every pending call.
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

  /** Why the connection was closed; `undefined` while it is open. */
  get lost(): ConnectionLostError | undefined {
    return this.#lost;
  }

  /** Resolves with the reason when the connection is closed. */
  get closed(): Promise<ConnectionLostError> {
    return this.#closed.promise;
  }

  /** Reads until the connection is closed. Never rejects. */
  async run(): Promise<void> {
    const trunk = new FrameReader(MUX_FORMAT);
    const answers = new FrameReader(MESSAGE_FORMAT);
    const requests = new FrameReader(MESSAGE_FORMAT);
    try {
      for await (const chunk of this.#stream.chunks) {
        for (const { header, payload } of trunk.push(chunk)) {
          if (header.connection === this.#callsOn) {
            for (const message of answers.push(payload)) this.#handleResponse(message.header, message.payload);
          } else if (header.connection === this.#servesOn) {
            for (const message of requests.push(payload)) this.#handleRequest(message.header, message.payload);
          }
        }
      }
      this.close('the peer closed the connection');
    } catch (error) {
      this.close(errorText(error));
    }
  }

  /** Rejects with the peer's error, a `ConnectionLostError`, or the signal's reason. */
  async call({ service, method, payload, timeoutMs }: TtrpcCall, signal: AbortSignal): Promise<Uint8Array> {
    signal.throwIfAborted();
    if (this.#lost) throw this.#lost;
    const timeoutNano = BigInt(Math.ceil(timeoutMs)) * 1_000_000n;
    const request = Request.encode(Request.create({ service, method, payload, timeoutNano })).finish();
    if (request.byteLength > MAX_MESSAGE_BYTES) throw oversizedError(request.byteLength);
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
      this.#answers.delete(streamId); // a late response is ignored
    }
  }

  close(reason: string): void {
    if (this.#lost) return;
    this.#lost = new ConnectionLostError(reason);
    this.#stream.close();
    for (const answer of this.#answers.values()) answer.reject(this.#lost);
    this.#closed.resolve(this.#lost);
  }

  #handleResponse({ type, streamId }: MessageHeader, payload: Uint8Array): void {
    if (type !== MESSAGE_TYPES.response) throw new ProtocolError(`message of type ${type}, expected a response`);
    const { status, payload: answer } = Response.decode(payload);
    const waiting = this.#answers.get(streamId);
    if (status === undefined || status.code === 0) waiting?.resolve(answer);
    else waiting?.reject(new TtrpcError(status.code, status.message));
  }

  #handleRequest({ type, streamId }: MessageHeader, payload: Uint8Array): void {
    if (type !== MESSAGE_TYPES.request) throw new ProtocolError(`message of type ${type}, expected a request`);
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
        : Response.encode(failureResponse(oversizedError(bytes.byteLength))).finish();
    this.#send(this.#servesOn, streamId, MESSAGE_TYPES.response, fitting);
  }

  async #responseTo(request: Request): Promise<Response> {
    if (this.#serving > MAX_CALLS) {
      throw new TtrpcError(TTRPC_CODES.resourceExhausted, `more than ${MAX_CALLS} calls at once`);
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

function oversizedError(length: number): TtrpcError {
  return new TtrpcError(
    TTRPC_CODES.resourceExhausted,
    `message of ${length} bytes exceeds the limit of ${MAX_MESSAGE_BYTES}`,
  );
}
