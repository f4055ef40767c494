import type { Pod } from '../../api/generated/core-v1.ts';
import { typedChannel } from '../../base/typed-channel.ts';

/** What starting pods and containers did. */
export type StartMessage =
  | { readonly kind: 'sandboxStarting' | 'sandboxFailed'; readonly pod: Pod }
  | { readonly kind: 'containerStarting'; readonly pod: Pod; readonly container: string }
  /** `code`: the reason of the pod error. */
  | { readonly kind: 'containerFailed'; readonly pod: Pod; readonly container: string; readonly code: string }
  /** A container with image volumes is to be created: how many. */
  | { readonly kind: 'imageVolumesRequested'; readonly count: number }
  | { readonly kind: 'imageVolumesMounted' | 'imageVolumesFailed'; readonly count: number };

export const startChannel = typedChannel<StartMessage>('nodelet.pod.start');
