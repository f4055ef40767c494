import type { EventReason } from '../pod/event-reason.ts';

/** An event about the node, as kubelet records it. */
export interface NodeEvent {
  readonly type: 'Normal' | 'Warning';
  readonly reason: EventReason;
  readonly message: string;
}

/** Records events of the node. Never fails and never waits. */
export interface NodeEvents {
  record(type: NodeEvent['type'], reason: EventReason, message: string): void;
}

export function nodeStatusEvent(nodeName: string, reason: EventReason): NodeEvent {
  return { type: 'Normal', reason, message: `Node ${nodeName} status is now: ${reason}` };
}
