import type { EventReason } from '../pod/event-reason.ts';

/** Records an event of the node object. Never throws. */
export type RecordNodeEvent = (type: 'Normal' | 'Warning', reason: EventReason, message: string) => void;
