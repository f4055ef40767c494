import type { ExecAction, Probe, TCPSocketAction } from '../../api/generated/core-v1.ts';
import { formatDurationMs } from '../../base/duration.ts';
import { expandEnv } from '../../base/env-expand.ts';
import { goQuote } from '../../base/go/go-quote.ts';
import { hasCode } from '../../cri/cri-error.ts';
import { goErrorText } from '../../cri/go-error-text.ts';
import type { Clock } from '../../host/clock.ts';
import type { NetworkClient } from '../../host/network.ts';
import { checkGrpc } from './check-grpc.ts';
import { checkHttp } from './check-http.ts';
import { type CheckOutcome, MAX_OUTPUT_BYTES, type ProbeTarget } from './probe-handler.ts';
import type { ExecInContainer } from './exec-in-container.ts';
import { dialErrorText, hostPort } from './dial-error-text.ts';
import { probePort } from './probe-port.ts';
import { type TimeLimit, startTimeLimit } from './time-limit.ts';

export interface CheckDeps {
  readonly clock: Clock;
  readonly network: NetworkClient;
  readonly exec: ExecInContainer;
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
  const limit = startTimeLimit(timeoutMs, deps.clock, signal);
  try {
    if (probe.exec) return await checkExec(probe.exec, target, deps.exec, limit);
    if (probe.httpGet) return await checkHttp(probe.httpGet, target, deps.network, limit);
    if (probe.tcpSocket) return await checkTcp(probe.tcpSocket, target, deps.network, limit);
    if (probe.grpc) return await checkGrpc(probe.grpc, target, deps, limit);
  } catch (error) {
    signal.throwIfAborted();
    return unknown(goErrorText(error));
  } finally {
    limit.end();
  }
  return unknown('missing probe handler');
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
    if (!limit.isExceeded() && !hasCode(error, 'DeadlineExceeded')) throw error;
    const output = `command timed out: ${goQuote(command.join(' '))} timed out after ${formatDurationMs(limit.ms)}`;
    return { kind: 'failure', output };
  }
}

async function checkTcp(
  action: TCPSocketAction,
  { container, podIP }: ProbeTarget,
  network: NetworkClient,
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
    if (limit.isExceeded()) return { kind: 'failure', output: `dial tcp ${address}: i/o timeout` };
    limit.signal.throwIfAborted();
    return { kind: 'failure', output: dialErrorText(error, address) };
  }
}

function unknown(output: string): CheckOutcome {
  return { kind: 'error', state: 'unknown', output };
}
