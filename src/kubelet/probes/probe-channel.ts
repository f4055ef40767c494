import { typedChannel } from '../../base/typed-channel.ts';
import type { ProbeKind } from './probe-results.ts';

/** A probed container. */
export interface ProbedName {
  readonly namespace: string;
  readonly pod: string;
  readonly uid: string;
  readonly container: string;
}

/** What the probes did. */
export type ProbeMessage =
  | {
      readonly kind: 'checked';
      readonly of: ProbedName;
      readonly probe: ProbeKind;
      readonly result: 'successful' | 'failed' | 'unknown';
      readonly tookMs: number;
    }
  /** The pod is not probed any more. */
  | { readonly kind: 'forgotten'; readonly of: Omit<ProbedName, 'container'> };

export const probeChannel = typedChannel<ProbeMessage>('nodelet.probe');
