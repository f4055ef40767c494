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
  /** Why parts of the process have failed; `undefined` while all run. */
  readonly failedParts: () => string | undefined;
}

const RETRY_MS = 5000;

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
  { network, clock, log, failedParts }: HealthzServing,
  signal: AbortSignal,
): Promise<TcpServer | undefined> {
  // As in kubelet, a response proves most of it; port 10250 has the other checks. Programs restart an agent that is unhealthy
  // here, so a single error that is over is not among them.
  const checks: HealthChecks = new Map([
    ['ping', () => undefined],
    ['parts', failedParts],
  ]);
  while (!signal.aborted) {
    try {
      return await network.serveTcp(address, healthzHandler(checks));
    } catch (error) {
      log.error('cannot serve /healthz, will try again', { address: address.host, port: address.port, error });
      await clock.sleep(RETRY_MS, signal).catch(() => undefined);
    }
  }
  return undefined;
}

function healthzHandler(checks: HealthChecks): HttpHandler {
  return async (request) => {
    const route = findHealthzRoute(request.path, checks);
    return route.kind === 'healthz' ? healthResponse(checks, route.check, request.query) : openResponse(route, request);
  };
}
