/** Tells something about the node as a whole, as kubelet's events of its node do. Never fails. */
export type TellOfNode = (type: 'Normal' | 'Warning', reason: string, message: string) => void;
