/** Records an event of the node object. Never throws. */
export type RecordNodeEvent = (type: 'Normal' | 'Warning', reason: string, message: string) => void;
