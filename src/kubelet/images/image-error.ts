import type { EventReason } from '../pod/event-reason.ts';
import { PodError, type PodErrorReason } from '../pod/pod-error.ts';

export interface ImageErrorOptions {
  /** The reason of an event about the image. The `Failed` event of the container is recorded by the caller. */
  readonly event?: EventReason;
  readonly retryAfterMs?: number;
  readonly cause?: unknown;
}

interface Recorder {
  readonly record: (type: 'Normal' | 'Warning', reason: EventReason, message: string) => void;
}

/**
 * Records the event about the image and returns the error. The event of the error itself is about the container that
 * needs the image.
 */
export function recordImageError(
  { record }: Recorder,
  reason: PodErrorReason,
  message: string,
  { event, ...options }: ImageErrorOptions,
): PodError {
  if (event !== undefined) record('Warning', event, message);
  return new PodError(reason, message, { ...options, eventMessage: `Error: ${reason}` });
}

const PULL_ERROR_MARKS = [
  { reason: 'RegistryUnavailable', because: 'the registry is unavailable' },
  { reason: 'SignatureValidationFailed', because: 'the signature validation failed' },
] as const;

/** Runtimes start the message of some errors with a reason. */
export function classifyPullError(image: string, text: string): { reason: PodErrorReason; message: string } {
  const mark = PULL_ERROR_MARKS.find(({ reason }) => text.startsWith(reason));
  if (!mark) return { reason: 'ErrImagePull', message: text };
  const details = text.slice(mark.reason.length);
  return { reason: mark.reason, message: `image pull failed for ${image} because ${mark.because}${details}` };
}
