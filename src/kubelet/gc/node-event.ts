/** Tells something about the node as a whole, as kubelet's events of its node do. Never fails. */
export type RecordNodeEvent = (type: 'Normal' | 'Warning', reason: string, message: string) => void;
