import { typedChannel } from '../../base/typed-channel.ts';

/** What the assignment of the machine's resources to pods did. */
export type PlacementMessage =
  /** A pod was admitted by the topology manager, or rejected. */
  | { readonly kind: 'placed'; readonly isRejected: boolean; readonly tookMs: number }
  /** The resources of a container, or of a pod, had to be on one NUMA node. */
  | { readonly kind: 'alignedToNumaNode'; readonly scope: 'container' | 'pod'; readonly isAligned: boolean }
  /** Whole cores were requested. */
  | { readonly kind: 'alignedToCores'; readonly isAligned: boolean }
  | { readonly kind: 'cpusRequested' | 'cpusFailed' | 'memoryRequested' | 'memoryFailed' };

export const placementChannel = typedChannel<PlacementMessage>('nodelet.placement');
