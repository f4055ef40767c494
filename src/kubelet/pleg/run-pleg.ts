import type { Log } from '../../base/log.ts';
import { runAllOrAbort } from '../../base/run-all-or-abort.ts';
import type { RuntimeEvent, RuntimeEvents } from '../../cri/runtime-events.ts';
import type { Clock } from '../../host/clock.ts';
import type { ObservedPods } from './observed-pods.ts';
import { plegChannel } from './pleg-channel.ts';
import type { RuntimeHealth } from './runtime-health.ts';

/** Safety net beside events: kubelet's evented PLEG relist period. */
const RELIST_MS = 300_000;
/** For runtimes without events: kubelet's generic PLEG relist period. */
const RELIST_WITHOUT_EVENTS_MS = 1_000;
/** Delays before subscribing again after the event stream broke. */
const RESUBSCRIBE_MS = [0, 100, 500, 2_000, 5_000] as const;

export interface PlegDeps {
  readonly observed: Pick<ObservedPods, 'beginRelist' | 'handleEvent'>;
  readonly events: RuntimeEvents | undefined;
  readonly health: Pick<RuntimeHealth, 'recordSuccess' | 'recordFailure'>;
  readonly clock: Clock;
  readonly log: Log;
}

/** Keeps the observed pods up to date until the signal aborts. */
export async function runPleg(deps: PlegDeps, signal: AbortSignal): Promise<void> {
  const { events } = deps;
  await runAllOrAbort(
    [(each) => relistPeriodically(deps, each), async (each) => events && followEvents(deps, events, each)],
    signal,
  );
}

async function relistPeriodically(deps: PlegDeps, signal: AbortSignal): Promise<void> {
  const { observed, events, health, clock, log } = deps;
  const period = events ? RELIST_MS : RELIST_WITHOUT_EVENTS_MS;
  while (!signal.aborted) {
    await clock.sleep(period, signal).catch(() => undefined);
    if (signal.aborted) return;
    try {
      await observed.beginRelist(signal);
      health.recordSuccess();
    } catch (error) {
      if (signal.aborted) return;
      health.recordFailure(error);
      log.warn('cannot list pods of the runtime', { error });
    }
  }
}

function publishEvent(event: RuntimeEvent, clock: Pick<Clock, 'now'>): void {
  if (event.kind === 'subscribed') return plegChannel.publish({ kind: 'connected' });
  const { createdMs } = event;
  plegChannel.publish({ kind: 'event', delayMs: createdMs === undefined ? undefined : clock.now() - createdMs });
}

async function followEvents(deps: PlegDeps, events: RuntimeEvents, signal: AbortSignal): Promise<void> {
  for (let failures = 0; !signal.aborted; failures++) {
    const wait = RESUBSCRIBE_MS[Math.min(failures, RESUBSCRIBE_MS.length - 1)] ?? 0;
    await deps.clock.sleep(wait, signal).catch(() => undefined);
    try {
      for await (const event of events.watch(signal)) {
        failures = 0;
        deps.health.recordSuccess();
        publishEvent(event, deps.clock);
        // Not awaited: a slow inspection must not delay events of other pods.
        deps.observed.handleEvent(event, signal).catch((error: unknown) => {
          if (!signal.aborted) deps.log.warn('cannot inspect a pod after a runtime event', { error });
        });
      }
    } catch (error) {
      if (signal.aborted) return;
      deps.health.recordFailure(error);
      plegChannel.publish({ kind: 'connectionFailed' });
      deps.log.warn('the event stream of the runtime broke, subscribing again', { error });
    }
  }
}
