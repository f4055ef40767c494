import { typedChannel } from '../../base/typed-channel.ts';

/** What PLEG did. */
export type PlegMessage =
  /** All pods were listed, and those that changed were inspected or are being inspected. */
  | { readonly kind: 'relisted'; readonly tookMs: number }
  /** One pod was inspected. */
  | { readonly kind: 'inspected'; readonly tookMs: number }
  /** The event stream of the runtime is open. */
  | { readonly kind: 'connected' }
  | { readonly kind: 'connectionFailed' }
  /** A runtime event arrived; `delayMs` after the runtime created it, if the runtime says when. */
  | { readonly kind: 'event'; readonly delayMs: number | undefined };

export const plegChannel = typedChannel<PlegMessage>('nodelet.pleg');
