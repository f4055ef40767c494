import { Server, ServerCredentials, type ServerUnaryCall, type sendUnaryData } from '@grpc/grpc-js';
import { codeToNumber } from '../../src/cri/cri-error.ts';
import { PluginError } from '../../src/plugins/plugin-error.ts';

interface Codec<T> {
  encode(message: T): { finish(): Uint8Array };
  decode(bytes: Uint8Array): T;
}

/** A service definition of ts-proto. */
interface Definition {
  readonly fullName: string;
  readonly methods: Readonly<Record<string, MethodDefinition>>;
}

interface MethodDefinition {
  readonly name: string;
  readonly requestType: Codec<unknown>;
  readonly responseType: Codec<unknown>;
}

type Handler<M> = M extends { requestType: Codec<infer Request>; responseType: Codec<infer Response> }
  ? (request: Request, signal: AbortSignal) => Promise<Response>
  : never;

/** The handlers of some RPCs of a service; the others answer `Unimplemented`. */
export type Handlers<D extends Definition> = { readonly [Key in keyof D['methods']]?: Handler<D['methods'][Key]> };

/** One service with its handlers. */
export interface GrpcService {
  register(server: Server): void;
}

/** A handler that rejects with a `PluginError` answers its code and message; its signal aborts when the client leaves. */
export function grpcService<D extends Definition>(definition: D, handlers: Handlers<D>): GrpcService {
  return {
    register(server) {
      for (const [key, method] of Object.entries(definition.methods)) {
        const handler = handlers[key] as ErasedHandler | undefined; // of the method of the same key
        if (handler) registerMethod(server, definition, method, handler);
      }
    },
  };
}

type ErasedHandler = (request: unknown, signal: AbortSignal) => Promise<unknown>;

function registerMethod(
  server: Server,
  { fullName }: Definition,
  method: MethodDefinition,
  handle: ErasedHandler,
): void {
  const { requestType: requests, responseType: responses } = method;
  server.register(
    `/${fullName}/${method.name}`,
    (call: ServerUnaryCall<unknown, unknown>, answer: sendUnaryData<unknown>) => {
      const left = new AbortController();
      call.on('cancelled', () => left.abort(new PluginError('Canceled', 'context canceled', method.name)));
      handle(call.request, left.signal).then(
        (response) => answer(null, response),
        (error: unknown) => answer(toGrpcError(error)),
      );
    },
    (message) => Buffer.from(responses.encode(message).finish()),
    (bytes) => requests.decode(new Uint8Array(bytes)),
    'unary',
  );
}

function toGrpcError(error: unknown): Error & { readonly code: number; readonly details: string } {
  const code = error instanceof PluginError ? error.code : 'Unknown';
  const details = error instanceof Error ? error.message : String(error);
  return Object.assign(new Error(details), { code: codeToNumber(code), details });
}

export interface GrpcServer {
  /** Ends connections and removes the socket. */
  close(): void;
}

/** Serves on a new unix socket. */
export async function serveGrpc(socketPath: string, ...services: readonly GrpcService[]): Promise<GrpcServer> {
  const server = new Server();
  for (const service of services) service.register(server);
  await new Promise<void>((resolve, reject) => {
    server.bindAsync(`unix:${socketPath}`, ServerCredentials.createInsecure(), (error) =>
      error ? reject(error) : resolve(),
    );
  });
  return { close: () => server.forceShutdown() };
}
