import { Client, credentials, Metadata, Server, ServerCredentials, type ServiceError } from '@grpc/grpc-js';
import type { MessageFns } from '../../src/plugins/generated/csi-v1.ts';

/** A unary method of a generated service. */
export interface GrpcMethod {
  readonly name: string;
  readonly path: string;
  readonly requestType: MessageFns<object>;
  readonly responseType: MessageFns<object>;
}

interface Service {
  readonly fullName: string;
  readonly methods: Readonly<Record<string, { readonly name: string; requestType: unknown; responseType: unknown }>>;
}

export function methodsOf({ fullName, methods }: Service): readonly GrpcMethod[] {
  return Object.values(methods).map(({ name, requestType, responseType }) => ({
    name,
    path: `/${fullName}/${name}`,
    requestType: requestType as MessageFns<object>,
    responseType: responseType as MessageFns<object>,
  }));
}

/** Answers with the encoded response. Rejects with an object with `code` and `details`. */
export type BytesCall = (path: string, request: Buffer) => Promise<Buffer>;

export interface GrpcPeer {
  readonly call: BytesCall;
  close(): void;
}

const asItIs = (bytes: Buffer): Buffer => bytes;

/** A client of the server at a unix socket. */
export function connectGrpc(socketPath: string): GrpcPeer {
  const client = new Client(`unix:${socketPath}`, credentials.createInsecure());
  return {
    call: (path, request) =>
      new Promise((resolve, reject) => {
        client.makeUnaryRequest(path, asItIs, asItIs, request, new Metadata(), (error, response) =>
          error || !response ? reject(error) : resolve(response),
        );
      }),
    close: () => client.close(),
  };
}

/** Serves methods at a unix socket. `answer` rejects with the error of the client. */
export async function serveGrpc(
  socketPath: string,
  methods: readonly GrpcMethod[],
  answer: (method: GrpcMethod, request: Buffer) => Promise<Buffer>,
): Promise<AsyncDisposable> {
  const server = new Server();
  for (const method of methods) {
    const how = { requestStream: false, responseStream: false };
    const bytes = {
      requestSerialize: asItIs,
      requestDeserialize: asItIs,
      responseSerialize: asItIs,
      responseDeserialize: asItIs,
    };
    server.addService(
      { [method.name]: { path: method.path, ...how, ...bytes } },
      {
        [method.name]: (call: { request: Buffer }, done: (error: Partial<ServiceError> | null, b?: Buffer) => void) =>
          answer(method, call.request).then(
            (response) => done(null, response),
            (error: ServiceError) => done({ code: error.code, details: error.details }),
          ),
      },
    );
  }
  await new Promise<void>((resolve, reject) =>
    server.bindAsync(`unix:${socketPath}`, ServerCredentials.createInsecure(), (error) =>
      error ? reject(error) : resolve(),
    ),
  );
  return { [Symbol.asyncDispose]: async () => server.forceShutdown() };
}

/** Encodes the request of a method, calls it, and decodes the response. */
export async function callMethod(peer: GrpcPeer, method: GrpcMethod, request: object): Promise<object> {
  const bytes = method.requestType.encode(method.requestType.fromPartial(request)).finish();
  return method.responseType.decode(await peer.call(method.path, Buffer.from(bytes)));
}
