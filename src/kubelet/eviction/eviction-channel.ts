import { typedChannel } from '../../base/typed-channel.ts';

/** What the eviction manager did. */
export type EvictionMessage =
  | { readonly kind: 'evicted'; readonly signal: string }
  /** Pods are ranked by readings of this age. */
  | { readonly kind: 'ranked'; readonly signal: string; readonly ageMs: number };

export const evictionChannel = typedChannel<EvictionMessage>('nodelet.eviction');
