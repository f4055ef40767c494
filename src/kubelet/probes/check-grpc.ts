import type { GRPCAction } from '../../api/generated/core-v1.ts';
import { formatDurationMs } from '../../base/duration.ts';
import { errorText } from '../../base/error-text.ts';
import { type CriCode, codeFromNumber } from '../../cri/cri-error.ts';
import type { Clock } from '../../host/clock.ts';
import { type GrpcResponse, type GrpcConnection, type NetworkClient, NetworkError } from '../../host/network.ts';
import type { CheckOutcome, ProbeTarget } from './probe-handler.ts';
import { dialErrorText, hostPort } from './dial-error-text.ts';
import { HEALTH_CHECK, healthRequest, healthStatus } from './grpc-health.ts';
import type { TimeLimit } from './time-limit.ts';

const USER_AGENT = 'kube-probe/1.36';

/** gRPC's first pause between two attempts to connect, and by how much each next one is longer. */
const FIRST_PAUSE_MS = 1000;
const PAUSE_GROWTH = 1.6;

/**
 * Asks a server for its health by gRPC's own protocol. As with kubelet, a server that cannot be reached is tried again
 * until the time is up. Rejects only with the signal's reason.
 */
export async function checkGrpc(
  { port, service = '' }: GRPCAction,
  { podIP }: ProbeTarget,
  { network, clock }: { readonly network: NetworkClient; readonly clock: Clock },
  limit: TimeLimit,
): Promise<CheckOutcome> {
  const connection = await connect(podIP, port, network, clock, limit);
  if (connection === undefined) {
    const within = `${JSON.stringify(hostPort(podIP, port))} within ${formatDurationMs(limit.ms)}`;
    return failure(`timeout: failed to connect service ${within}: context deadline exceeded`);
  }
  try {
    const request = { path: HEALTH_CHECK, message: healthRequest(service), timeoutMs: limit.ms };
    return verdictOn(await connection.call(request, limit.signal), limit);
  } catch (error) {
    if (limit.isExceeded()) return overdue(limit);
    limit.signal.throwIfAborted();
    return rpcFailure('Unavailable', `error reading from server: ${dialErrorText(error, hostPort(podIP, port))}`);
  } finally {
    connection.close();
  }
}

/** Nothing when the time is up. */
async function connect(
  host: string,
  port: number,
  network: NetworkClient,
  clock: Clock,
  limit: TimeLimit,
): Promise<GrpcConnection | undefined> {
  for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs *= PAUSE_GROWTH) {
    try {
      return await network.grpc({ host, port }, USER_AGENT, limit.signal);
    } catch (error) {
      if (!limit.signal.aborted && !(error instanceof NetworkError)) throw error;
      await clock.sleep(pauseMs, limit.signal).catch(() => undefined);
      if (limit.isExceeded()) return undefined;
      limit.signal.throwIfAborted();
    }
  }
}

function verdictOn({ code, details, message }: GrpcResponse, limit: TimeLimit): CheckOutcome {
  if (code === 0) return verdictOnHealth(message);
  const name = codeFromNumber(code);
  if (name === 'DeadlineExceeded') return overdue(limit);
  if (name === 'Unimplemented') {
    const text = 'error: this server does not implement the grpc health protocol (grpc.health.v1.Health)';
    return failure(`${text}: ${details}`);
  }
  return rpcFailure(name, details);
}

function verdictOnHealth(message: Uint8Array): CheckOutcome {
  let status: string;
  try {
    status = healthStatus(message);
  } catch (error) {
    return rpcFailure('Internal', `grpc: failed to unmarshal the received message: proto: ${errorText(error)}`);
  }
  if (status === 'SERVING') return { kind: 'success', output: 'service healthy' };
  return failure(`service unhealthy (responded with "${status}")`);
}

function overdue({ ms }: TimeLimit): CheckOutcome {
  return failure(`timeout: health rpc did not complete within ${formatDurationMs(ms)}`);
}

function rpcFailure(code: CriCode, details: string): CheckOutcome {
  return failure(`error: health rpc probe failed: rpc error: code = ${code} desc = ${details}`);
}

function failure(output: string): CheckOutcome {
  return { kind: 'failure', output };
}
