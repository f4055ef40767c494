import { PodError, type PodErrorReason } from '../pod/pod-error.ts';

export interface ImageErrorOptions {
  /** The reason of an additional event, recorded before the common `Failed` event. */
  readonly event?: string;
  readonly retryAfterMs?: number;
  readonly cause?: unknown;
}

interface Recorder {
  readonly record: (type: 'Normal' | 'Warning', reason: string, message: string) => void;
}

/** Records the events of an error and returns the error. */
export function recordImageError(
  { record }: Recorder,
  reason: PodErrorReason,
  message: string,
  { event, ...options }: ImageErrorOptions,
): PodError {
  if (event !== undefined) record('Warning', event, message);
  record('Warning', 'Failed', `Error: ${reason}`);
  return new PodError(reason, message, { ...options, silent: true });
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
