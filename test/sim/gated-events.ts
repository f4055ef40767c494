import { AsyncQueue } from '../../src/cri/async-queue.ts';
import type { RuntimeEvent, RuntimeEvents } from '../../src/cri/runtime-events.ts';
import type { FaultBox } from './fault-box.ts';
import type { Gate } from './gate.ts';

/** The same events, except that some get lost, and some come after those that followed them. */
export function unreliableEvents(
  events: RuntimeEvents,
  content: 'full' | 'ids',
  gate: Gate,
  faults: FaultBox,
): RuntimeEvents {
  return {
    async *watch(signal) {
      const queue = new AsyncQueue<RuntimeEvent>();
      const pump = async (): Promise<void> => {
        for await (const told of events.watch(signal)) {
          const event = content === 'full' ? told : withoutPod(told);
          const delayMs = event.kind === 'subscribed' ? undefined : fateOf(faults);
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

function fateOf(faults: FaultBox): 'lost' | number | undefined {
  if (faults.lostEvents > 0) {
    faults.lostEvents--;
    return 'lost';
  }
  return faults.delayedEvents.shift();
}
