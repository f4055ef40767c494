/** Something to tell about the node as a whole, as kubelet's events of its node do. */
export interface NodeEvent {
  readonly type: 'Normal' | 'Warning';
  readonly reason: string;
  readonly message: string;
}

/** Where such events go. Recording never fails and never waits. */
export interface NodeEvents {
  record(type: NodeEvent['type'], reason: string, message: string): void;
}

export function nodeStatusEvent(nodeName: string, reason: string): NodeEvent {
  return { type: 'Normal', reason, message: `Node ${nodeName} status is now: ${reason}` };
}
