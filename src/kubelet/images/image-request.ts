import type { Pod } from '../../api/generated/core-v1.ts';
import type { PodSandboxConfig } from '../../cri/generated/runtime-v1.ts';
import type { EventReason } from '../pod/event-reason.ts';
import type { EventCause } from '../pod/pod-cause.ts';
import type { VerificationPolicy } from './image-access.ts';
import type { PullRecords } from './pull-records.ts';
import type { LoginSource } from './registry-login.ts';

/** The request of one container, or one image volume, for its image. */
export interface ImageRequest {
  readonly pod: Pod;
  /** As in the manifest. */
  readonly image: string;
  /** `Always`, `IfNotPresent` or `Never`. */
  readonly pullPolicy: string;
  /** The logins of the pod's pull secrets. */
  readonly pullSecrets: readonly LoginSource[];
  readonly sandboxConfig: PodSandboxConfig;
  /** Records events about the image. */
  readonly record: (type: 'Normal' | 'Warning', reason: EventReason, message: string, cause?: EventCause) => void;
}

/** Restricts pods to images that they could have pulled themselves. */
export interface Verification {
  readonly policy: VerificationPolicy;
  readonly records: PullRecords;
}
