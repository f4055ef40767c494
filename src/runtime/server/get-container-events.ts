import type { RuntimeService } from '../../cri/services.ts';
import type { EventHub } from './event-hub.ts';

/** A stream per subscriber, from its first read on. */
export function getContainerEvents(hub: Pick<EventHub, 'subscribe'>): RuntimeService['getContainerEvents'] {
  return (_request, signal) => hub.subscribe(signal);
}
