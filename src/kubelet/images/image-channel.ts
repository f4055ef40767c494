import { typedChannel } from '../../base/typed-channel.ts';

/** What making images available to pods did. */
export type ImageMessage =
  /** An image was requested. `undefined`: not known when the request failed. */
  | {
      readonly kind: 'requested';
      readonly pullPolicy: string;
      readonly isPresent: boolean | undefined;
      readonly mustPull: boolean | undefined;
    }
  /** Whether a present image may be used was decided. */
  | {
      readonly kind: 'accessChecked';
      readonly result: 'credentialPolicyAllowed' | 'credentialRecordFound' | 'mustAuthenticate' | 'error';
    }
  /** An unused image was removed: it was too old, or space was short. */
  | { readonly kind: 'collected'; readonly reason: 'age' | 'space' }
  /** A credential provider plugin ran. */
  | { readonly kind: 'providerRan'; readonly provider: string; readonly tookMs: number; readonly isError: boolean }
  | { readonly kind: 'pulling'; readonly podUid: string }
  /** `bytes`: 0 if the runtime does not say. */
  | { readonly kind: 'pulled'; readonly podUid: string; readonly tookMs: number; readonly bytes: number };

export const imageChannel = typedChannel<ImageMessage>('nodelet.image');
