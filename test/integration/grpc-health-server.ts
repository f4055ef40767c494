import { promisify } from 'node:util';
import { Server, ServerCredentials, type sendUnaryData } from '@grpc/grpc-js';

/** A server of the gRPC health checking protocol, with the standard library. */
export interface HealthServer {
  readonly port: number;
  /** The number of a status: 1 is SERVING, 2 is NOT_SERVING. */
  status: number;
  close(): void;
}

export async function startHealthServer(host: string): Promise<HealthServer> {
  const server = new Server();
  const bytes = { serialize: (message: Buffer) => message, deserialize: (message: Buffer) => message };
  const check = {
    path: '/grpc.health.v1.Health/Check',
    requestStream: false,
    responseStream: false,
    requestSerialize: bytes.serialize,
    requestDeserialize: bytes.deserialize,
    responseSerialize: bytes.serialize,
    responseDeserialize: bytes.deserialize,
  };
  server.addService(
    { check },
    { check: (_: unknown, answer: sendUnaryData<Buffer>) => answer(null, Buffer.of(8, health.status)) },
  );
  const bind = promisify(server.bindAsync.bind(server));
  const port = await bind(`${host}:0`, ServerCredentials.createInsecure());
  const health: HealthServer = { port, status: 1, close: () => server.forceShutdown() };
  return health;
}
