import { typedChannel } from '../../base/typed-channel.ts';

/** What lifecycle hooks did. */
export interface HookMessage {
  /** A sleep ended before its time, or a request to an HTTPS hook succeeded over HTTP. */
  readonly kind: 'sleepEndedEarly' | 'httpFallback';
}

export const hookChannel = typedChannel<HookMessage>('nodelet.hook');
