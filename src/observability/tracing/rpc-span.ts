import type { Work, WorkFacts } from '../../base/trace-work.ts';
import { CriError } from '../../cri/cri-error.ts';
import type { RpcTrace } from '../../cri/instrument.ts';

/** Codes that are errors of a server; with the others it has done what it should. */
const SERVER_ERRORS: ReadonlySet<string> = new Set([
  'Unknown',
  'DeadlineExceeded',
  'Unimplemented',
  'Internal',
  'Unavailable',
  'DataLoss',
]);

/** A call to the runtime as the gRPC instrumentation of OpenTelemetry shows it in kubelet and containerd. */
export function rpcWork({ path, side, address }: RpcTrace): Work {
  const name = path.slice(1);
  return {
    name,
    kind: side,
    facts: { 'rpc.method': name, 'rpc.system.name': 'grpc', 'server.address': address },
  };
}

/** What is known when the call has ended. */
export function rpcOutcome({ error }: RpcTrace): WorkFacts {
  return { 'rpc.response.status_code': error === undefined ? 'OK' : codeOf(error) };
}

/** Whether the span of a failed call has an error. */
export function isRpcFailure({ side, error }: RpcTrace): boolean {
  return side === 'client' || SERVER_ERRORS.has(codeOf(error));
}

function codeOf(error: unknown): string {
  return error instanceof CriError ? error.code : 'Unknown';
}
