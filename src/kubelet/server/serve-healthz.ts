import { aborted } from '../../base/aborted.ts';
import type { Log } from '../../base/log.ts';
import type { Clock } from '../../host/clock.ts';
import type { HttpHandler, Network } from '../../host/network.ts';
import type { TcpAddress, TcpServer } from '../../host/tcp-server.ts';
import { type HealthChecks, health } from './healthz.ts';
import { openAnswer } from './open-answer.ts';
import { healthzRouteOf } from './route.ts';

export interface HealthzServing {
  readonly network: Pick<Network, 'serveTcp'>;
  readonly clock: Pick<Clock, 'sleep'>;
  readonly log: Log;
}

const RETRY_MS = 5000;
/** As in kubelet, an answer at all is the proof; what it checks beside that is told on the port of its API. */
const CHECKS: HealthChecks = new Map([['ping', () => undefined]]);

/**
 * Serves `/healthz` in clear text until the signal aborts, for who waits on this machine for its kubelet. Port 0: it does
 * not. Where it cannot listen it tries again and again.
 */
export async function serveHealthz(place: TcpAddress, deps: HealthzServing, signal: AbortSignal): Promise<void> {
  if (place.port === 0) return;
  const server = await listen(place, deps, signal);
  await aborted(signal);
  await server?.close();
}

async function listen(
  place: TcpAddress,
  { network, clock, log }: HealthzServing,
  signal: AbortSignal,
): Promise<TcpServer | undefined> {
  while (!signal.aborted) {
    try {
      return await network.serveTcp(place, answer);
    } catch (error) {
      log.error('cannot serve /healthz yet', { address: place.host, port: place.port, error });
      await clock.sleep(RETRY_MS, signal).catch(() => undefined);
    }
  }
  return undefined;
}

const answer: HttpHandler = async (request) => {
  const route = healthzRouteOf(request.path, CHECKS);
  return route.kind === 'healthz' ? health(CHECKS, route.check, request.query) : openAnswer(route, request);
};
