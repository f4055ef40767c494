import type { EventReason } from './event-reason.ts';
import { CausedError, type ErrorCause, podCauseOf } from './pod-cause.ts';

/** kubelet's reasons for a container or sandbox that did not start, and the event that reports each. */
const REASONS = {
  InvalidImageName: { event: 'Failed', type: 'Warning' },
  ImageInspectError: { event: 'Failed', type: 'Warning' },
  ErrImagePull: { event: 'Failed', type: 'Warning' },
  ErrImageNeverPull: { event: 'Failed', type: 'Warning' },
  ImagePullBackOff: { event: 'Failed', type: 'Warning' },
  RegistryUnavailable: { event: 'Failed', type: 'Warning' },
  SignatureValidationFailed: { event: 'Failed', type: 'Warning' },
  CreatePodSandboxError: { event: 'FailedCreatePodSandBox', type: 'Warning' },
  KillPodSandboxError: { event: 'FailedKillPod', type: 'Warning' },
  KillContainerError: { event: 'FailedKillPod', type: 'Warning' },
  CreateContainerConfigError: { event: 'Failed', type: 'Warning' },
  CreateContainerError: { event: 'Failed', type: 'Warning' },
  RunContainerError: { event: 'Failed', type: 'Warning' },
  PostStartHookError: { event: 'FailedPostStartHook', type: 'Warning' },
  CrashLoopBackOff: { event: 'BackOff', type: 'Warning' },
  NetworkNotReady: { event: 'NetworkNotReady', type: 'Warning' },
  FailedMount: { event: 'FailedMount', type: 'Warning' },
  FailedPrepareDynamicResources: { event: 'FailedPrepareDynamicResources', type: 'Warning' },
  FailedAttachVolume: { event: 'FailedAttachVolume', type: 'Warning' },
  FailedMapVolume: { event: 'FailedMapVolume', type: 'Warning' },
  FailedToMakePodDataDirectories: { event: 'Failed', type: 'Warning' },
  FailedCreatePodContainer: { event: 'FailedCreatePodContainer', type: 'Warning' },
} as const satisfies Record<string, { event: EventReason; type: 'Normal' | 'Warning' }>;

export type PodErrorReason = keyof typeof REASONS;

export interface PodErrorOptions extends ErrorOptions {
  /** The event's message; kubelet often words event and status differently. Default: the error message. */
  readonly eventMessage?: string;
  /** Retrying earlier would fail in the same way. */
  readonly retryAfterMs?: number;
  /** Records no event: the failing component records its own, or has done so. */
  readonly silent?: boolean;
  /** Typed cause; absent: that of `cause`. */
  readonly podCause?: ErrorCause;
}

/** An error that is shown to users of the pod: `reason` and `message` are kubelet's. */
export class PodError extends CausedError {
  override readonly name = 'PodError';
  readonly reason: PodErrorReason;
  readonly eventMessage: string;
  readonly retryAfterMs: number | undefined;
  readonly silent: boolean;

  constructor(reason: PodErrorReason, message: string, options: PodErrorOptions = {}) {
    super(message, options.podCause, options);
    this.reason = reason;
    this.eventMessage = options.eventMessage ?? message;
    this.retryAfterMs = options.retryAfterMs;
    this.silent = options.silent ?? false;
  }
}

/** The event that reports a pod error. */
export function podErrorEvent(error: PodError): {
  reason: EventReason;
  type: 'Normal' | 'Warning';
  message: string;
  cause: ErrorCause | undefined;
} {
  const { event, type } = REASONS[error.reason];
  return { reason: event, type, message: error.eventMessage, cause: podCauseOf(error) };
}
