import type { GRPCAction } from '../../api/generated/core-v1.ts';
import { formatDurationMs } from '../../base/duration.ts';
import { errorText } from '../../base/error-text.ts';
import { type CriCode, codeFromNumber } from '../../cri/cri-error.ts';
import type { Clock } from '../../host/clock.ts';
import { type GrpcConnection, type GrpcResponse, type NetworkClient, NetworkError } from '../../host/network.ts';
import { dialErrorText, hostPort } from './dial-error-text.ts';
import { HEALTH_CHECK, healthRequest, healthStatus } from './grpc-health.ts';
import type { CheckOutcome, ProbeHandler } from './probe-handler.ts';
import type { TimeLimit } from './time-limit.ts';

const USER_AGENT = 'kube-probe/1.36';

/** gRPC's back-off between two attempts to connect. */
const FIRST_BACKOFF_MS = 1000;
const BACKOFF_FACTOR = 1.6;

/**
 * Requests the health of a server by gRPC's health checking protocol. As in kubelet, an unreachable server is tried again
 * until the time limit. Rejects only with the signal's reason.
 */
export const checkGrpc: ProbeHandler<GRPCAction> = async (
  { port, service = '' },
  { podIP },
  { network, clock },
  limit,
) => {
  const connection = await connect(podIP, port, network, clock, limit);
  if (connection === undefined) {
    const within = `${JSON.stringify(hostPort(podIP, port))} within ${formatDurationMs(limit.ms)}`;
    return failure(`timeout: failed to connect service ${within}: context deadline exceeded`);
  }
  try {
    const request = { path: HEALTH_CHECK, message: healthRequest(service), timeoutMs: limit.ms };
    return responseOutcome(await connection.call(request, limit.signal), limit);
  } catch (error) {
    if (limit.isExceeded()) return overdue(limit);
    limit.signal.throwIfAborted();
    return rpcFailure('Unavailable', `error reading from server: ${dialErrorText(error, hostPort(podIP, port))}`);
  } finally {
    connection.close();
  }
};

/** Returns `undefined` when the time limit is exceeded. */
async function connect(
  host: string,
  port: number,
  network: NetworkClient,
  clock: Clock,
  limit: TimeLimit,
): Promise<GrpcConnection | undefined> {
  for (let backoffMs = FIRST_BACKOFF_MS; ; backoffMs *= BACKOFF_FACTOR) {
    try {
      return await network.grpc({ host, port }, USER_AGENT, limit.signal);
    } catch (error) {
      if (!limit.signal.aborted && !(error instanceof NetworkError)) throw error;
      await clock.sleep(backoffMs, limit.signal).catch(() => undefined);
      if (limit.isExceeded()) return undefined;
      limit.signal.throwIfAborted();
    }
  }
}

function responseOutcome({ code, details, message }: GrpcResponse, limit: TimeLimit): CheckOutcome {
  if (code === 0) return healthOutcome(message);
  const name = codeFromNumber(code);
  if (name === 'DeadlineExceeded') return overdue(limit);
  if (name === 'Unimplemented') {
    const text = 'error: this server does not implement the grpc health protocol (grpc.health.v1.Health)';
    return failure(`${text}: ${details}`);
  }
  return rpcFailure(name, details);
}

function healthOutcome(message: Uint8Array): CheckOutcome {
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
