import { typedChannel } from '../../base/typed-channel.ts';

/** The node rejected a pod. */
export interface RejectionMessage {
  readonly reason: string;
}

export const rejectionChannel = typedChannel<RejectionMessage>('nodelet.pod.rejection');
