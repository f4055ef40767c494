import { typedChannel } from '../../../base/typed-channel.ts';

/** The node object begins to be registered, was created at the API server, or is ready there. */
export interface NodeMessage {
  readonly kind: 'registering' | 'created' | 'ready';
}

export const nodeChannel = typedChannel<NodeMessage>('nodelet.node');
