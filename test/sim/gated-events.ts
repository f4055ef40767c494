import { AsyncQueue } from '../../src/cri/async-queue.ts';
import type { RuntimeEvent, RuntimeEvents } from '../../src/cri/runtime-events.ts';
import type { Gate } from './gate.ts';
import type { PendingFaults } from './pending-faults.ts';

/** The same events, except that some are lost and some are delayed past later ones. */
export function unreliableEvents(
  events: RuntimeEvents,
  content: 'full' | 'ids',
  gate: Gate,
  faults: PendingFaults,
): RuntimeEvents {
  return {
    async *watch(signal) {
      const queue = new AsyncQueue<RuntimeEvent>();
      const pump = async (): Promise<void> => {
        for await (const received of events.watch(signal)) {
          const event = content === 'full' ? received : withoutPod(received);
          const delayMs = event.kind === 'subscribed' ? undefined : nextEventFault(faults);
          if (delayMs === 'lost') continue;
          if (delayMs === undefined) queue.push(event);
          else
            gate.clock.sleep(delayMs, signal).then(
              () => queue.push(event),
              () => undefined,
            );
        }
      };
      pump().catch((error: unknown) => queue.fail(error));
      yield* queue.read();
    },
  };
}

function withoutPod(event: RuntimeEvent): RuntimeEvent {
  return event.kind === 'subscribed' ? event : { kind: event.kind, id: event.id };
}

function nextEventFault(faults: PendingFaults): 'lost' | number | undefined {
  if (faults.lostEvents > 0) {
    faults.lostEvents--;
    return 'lost';
  }
  return faults.delayedEvents.shift();
}
