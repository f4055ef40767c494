import type { ExecAction, GRPCAction, Probe, TCPSocketAction } from '../../api/generated/core-v1.ts';
import { formatDurationMs } from '../../base/duration.ts';
import { expandEnv } from '../../base/env-expand.ts';
import { textOf } from '../../base/text-of.ts';
import { CriError, hasCode, rpcErrorText } from '../../cri/cri-error.ts';
import type { Clock } from '../../host/clock.ts';
import type { Network } from '../../host/network.ts';
import { goQuote } from '../sync/config/go-quote.ts';
import { checkHttp } from './check-http.ts';
import { type CheckOutcome, MAX_OUTPUT_BYTES, type ProbeTarget } from './check-outcome.ts';
import { dialFailureText, hostPort } from './failure-text.ts';
import { probePort } from './probe-port.ts';
import { type TimeLimit, timeLimit } from './time-limit.ts';

/** Runs a command in a container to its end. Rejects with a `CriError`, or with the signal's reason. */
export type ExecInContainer = (
  containerId: string,
  command: readonly string[],
  timeoutMs: number,
  signal: AbortSignal,
) => Promise<{ readonly exitCode: number; readonly stdout: Uint8Array; readonly stderr: Uint8Array }>;

/** Asks a server by gRPC's health checking protocol; the texts are its own. Rejects only with the signal's reason. */
export type GrpcHealth = (
  target: { readonly host: string; readonly port: number; readonly service: string },
  timeoutMs: number,
  signal: AbortSignal,
) => Promise<CheckOutcome>;

export interface CheckDeps {
  readonly clock: Clock;
  readonly network: Network;
  readonly exec: ExecInContainer;
  readonly grpcHealth?: GrpcHealth;
}

/**
 * Checks a container once, as its probe says, and ends when the probe's time is up. Rejects only with the signal's
 * reason, once that has aborted.
 */
export async function checkProbe(
  probe: Probe,
  target: ProbeTarget,
  timeoutMs: number,
  deps: CheckDeps,
  signal: AbortSignal,
): Promise<CheckOutcome> {
  const limit = timeLimit(timeoutMs, deps.clock, signal);
  try {
    if (probe.exec) return await checkExec(probe.exec, target, deps.exec, limit);
    if (probe.httpGet) return await checkHttp(probe.httpGet, target, deps.network, limit);
    if (probe.tcpSocket) return await checkTcp(probe.tcpSocket, target, deps.network, limit);
    if (probe.grpc && deps.grpcHealth) return await checkGrpc(probe.grpc, target, deps.grpcHealth, limit);
  } catch (error) {
    signal.throwIfAborted();
    return unknown(error instanceof CriError ? rpcErrorText(error) : textOf(error));
  }
  return unknown(probe.grpc ? 'gRPC probes are not supported' : 'missing probe handler');
}

async function checkExec(
  action: ExecAction,
  { container, containerId }: ProbeTarget,
  exec: ExecInContainer,
  limit: TimeLimit,
): Promise<CheckOutcome> {
  const variables = new Map(container.env?.map(({ name, value }) => [name, value ?? '']));
  const command = (action.command ?? []).map((word) => expandEnv(word, (name) => variables.get(name)));
  try {
    const { exitCode, stdout, stderr } = await exec(containerId, command, limit.ms, limit.signal);
    const output = Buffer.concat([stdout, stderr]).toString('utf8', 0, MAX_OUTPUT_BYTES);
    return { kind: exitCode === 0 ? 'success' : 'failure', output };
  } catch (error) {
    if (!limit.isPassed() && !hasCode(error, 'DeadlineExceeded')) throw error;
    const output = `command timed out: ${goQuote(command.join(' '))} timed out after ${formatDurationMs(limit.ms)}`;
    return { kind: 'failure', output };
  }
}

async function checkTcp(
  action: TCPSocketAction,
  { container, podIP }: ProbeTarget,
  network: Network,
  limit: TimeLimit,
): Promise<CheckOutcome> {
  const port = probePort(action.port, container);
  const host = action.host || podIP;
  const address = hostPort(host, port);
  try {
    const [address] = await network.lookup(host, limit.signal);
    const connection = await network.dial({ host: address, port }, limit.signal);
    connection.close();
    return { kind: 'success', output: '' };
  } catch (error) {
    if (limit.isPassed()) return { kind: 'failure', output: `dial tcp ${address}: i/o timeout` };
    limit.signal.throwIfAborted();
    return { kind: 'failure', output: dialFailureText(error, address) };
  }
}

function checkGrpc(action: GRPCAction, { podIP }: ProbeTarget, health: GrpcHealth, limit: TimeLimit) {
  return health({ host: podIP, port: action.port, service: action.service ?? '' }, limit.ms, limit.signal);
}

function unknown(output: string): CheckOutcome {
  return { kind: 'error', state: 'unknown', output };
}
