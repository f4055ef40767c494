import { typedChannel } from '../../base/typed-channel.ts';

/** The eviction manager evicted a pod for this signal. */
export interface EvictionMessage {
  readonly signal: string;
}

export const evictionChannel = typedChannel<EvictionMessage>('nodelet.eviction');
