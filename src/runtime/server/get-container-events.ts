import type { RuntimeService } from '../../cri/services.ts';
import type { EventHub } from './event-hub.ts';

/** Each stream starts with its first read. */
export function getContainerEvents(hub: Pick<EventHub, 'subscribe'>): RuntimeService['getContainerEvents'] {
  return (_request, signal) => hub.subscribe(signal);
}
