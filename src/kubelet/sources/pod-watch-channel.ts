import type { Pod } from '../../api/generated/core-v1.ts';
import { typedChannel } from '../../base/typed-channel.ts';

/** A version of a pod of this node, or its end, as the API server reported it. */
export interface PodWatchMessage {
  readonly kind: 'seen' | 'deleted';
  readonly pod: Pod;
}

export const podWatchChannel = typedChannel<PodWatchMessage>('nodelet.pod.watch');
