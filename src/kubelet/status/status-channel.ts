import type { Pod } from '../../api/generated/core-v1.ts';
import { typedChannel } from '../../base/typed-channel.ts';

/** The API server has a status, this long after it began to differ. */
export interface StatusMessage {
  /** As the API server returned it. */
  readonly pod: Pod;
  /** Absent: nothing had changed since the last request. */
  readonly tookMs: number | undefined;
}

export const statusChannel = typedChannel<StatusMessage>('nodelet.pod.status');
