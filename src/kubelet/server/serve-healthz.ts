import { aborted } from '../../base/aborted.ts';
import type { Log } from '../../base/log.ts';
import type { Clock } from '../../host/clock.ts';
import type { HttpHandler, Network } from '../../host/network.ts';
import type { TcpAddress, TcpServer } from '../../host/tcp-server.ts';
import { type HealthChecks, healthResponse } from './healthz.ts';
import { openResponse } from './open-response.ts';
import { findHealthzRoute } from './route.ts';

export interface HealthzServing {
  readonly network: Pick<Network, 'serveTcp'>;
  readonly clock: Pick<Clock, 'sleep'>;
  readonly log: Log;
}

const RETRY_MS = 5000;
/** As in kubelet, a response is all that is checked; port 10250 has the other checks. */
const CHECKS: HealthChecks = new Map([['ping', () => undefined]]);

/**
 * Serves `/healthz` over plain HTTP until the signal aborts, for local clients. Port 0 disables it. Retries when it cannot
 * listen.
 */
export async function serveHealthz(address: TcpAddress, deps: HealthzServing, signal: AbortSignal): Promise<void> {
  if (address.port === 0) return;
  const server = await listen(address, deps, signal);
  await aborted(signal);
  await server?.close();
}

async function listen(
  address: TcpAddress,
  { network, clock, log }: HealthzServing,
  signal: AbortSignal,
): Promise<TcpServer | undefined> {
  while (!signal.aborted) {
    try {
      return await network.serveTcp(address, answer);
    } catch (error) {
      log.error('cannot serve /healthz, will try again', { address: address.host, port: address.port, error });
      await clock.sleep(RETRY_MS, signal).catch(() => undefined);
    }
  }
  return undefined;
}

const answer: HttpHandler = async (request) => {
  const route = findHealthzRoute(request.path, CHECKS);
  return route.kind === 'healthz' ? healthResponse(CHECKS, route.check, request.query) : openResponse(route, request);
};
