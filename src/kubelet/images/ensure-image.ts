import type { Pod } from '../../api/generated/core-v1.ts';
import { formatDurationMs } from '../../base/duration.ts';
import { withDefaultTag } from '../../base/image-name.ts';
import { textOf } from '../../base/text-of.ts';
import { CriError, rpcErrorText } from '../../cri/cri-error.ts';
import {
  type Image,
  ImageSpec,
  ImageStatusRequest,
  type PodSandboxConfig,
  PullImageRequest,
} from '../../cri/generated/runtime-v1.ts';
import type { ImageService } from '../../cri/services.ts';
import type { Clock } from '../../host/clock.ts';
import type { ImageUser } from '../sync/config/security-context.ts';
import { PodError, type PodErrorReason } from '../sync/pod-error.ts';
import type { PullBackoff } from './pull-backoff.ts';
import type { SharedPulls } from './shared-pulls.ts';

export interface ImageRequest {
  readonly pod: Pod;
  /** As the manifest names it. */
  readonly image: string;
  /** `Always`, `IfNotPresent` or `Never`. */
  readonly pullPolicy: string;
  readonly sandboxConfig: PodSandboxConfig;
  /** Gets what users are told meanwhile, failures included. */
  readonly record: (type: 'Normal' | 'Warning', reason: string, message: string) => void;
}

export interface ImageDeps {
  readonly images: Pick<ImageService, 'imageStatus' | 'pullImage'>;
  /** One for the whole node: pods that want the same image wait for the same pull. */
  readonly pulls: SharedPulls<PulledImage>;
  /** One for the whole node. */
  readonly backoff: PullBackoff;
  readonly clock: Clock;
}

/** An image that the runtime has. */
export interface PresentImage {
  /** What containers are made from. */
  readonly ref: string;
  readonly user: ImageUser;
}

export interface PulledImage {
  readonly ref: string;
  /** Absent when the runtime would not tell. */
  readonly status: Image | undefined;
  /** Without the time in which other pulls went first. */
  readonly tookMs: number;
}

/**
 * Sees to it that the runtime has an image, as the pull policy asks. Failures are `PodError`s whose events have been
 * told already; `retryAfterMs` says when it is worth trying again.
 */
export async function ensureImage(request: ImageRequest, deps: ImageDeps, signal: AbortSignal): Promise<PresentImage> {
  const spec = imageSpec(request);
  if (request.pullPolicy !== 'Always') {
    const status = await inspect(spec, request, deps, signal);
    if (status) {
      const message = `Container image "${request.image}" already present on machine and can be accessed by the pod`;
      request.record('Normal', 'Pulled', message);
      return { ref: status.id, user: userOf(status) };
    }
  }
  if (request.pullPolicy === 'Never') {
    const message = `Container image "${request.image}" is not present with pull policy of Never`;
    throw failure(request, 'ErrImageNeverPull', message, { event: 'ErrImageNeverPull' });
  }
  return pull(spec, request, deps, signal);
}

function imageSpec(request: ImageRequest): ImageSpec {
  try {
    const annotations = { ...request.pod.metadata.annotations };
    return ImageSpec.fromPartial({ image: withDefaultTag(request.image), annotations });
  } catch (error) {
    const message = `Failed to apply default image tag "${request.image}": ${textOf(error)}`;
    throw failure(request, 'InvalidImageName', message, { event: 'InspectFailed' });
  }
}

async function inspect(
  spec: ImageSpec,
  request: ImageRequest,
  { images }: ImageDeps,
  signal: AbortSignal,
): Promise<Image | undefined> {
  try {
    return (await images.imageStatus(ImageStatusRequest.fromPartial({ image: spec }), signal)).image;
  } catch (error) {
    signal.throwIfAborted();
    // The empty name is upstream's: it prints what it has not found yet.
    throw failure(request, 'ImageInspectError', `Failed to inspect image "": ${errorText(error)}`, {
      event: 'InspectFailed',
      cause: error,
    });
  }
}

async function pull(
  spec: ImageSpec,
  request: ImageRequest,
  deps: ImageDeps,
  signal: AbortSignal,
): Promise<PresentImage> {
  const { pod, image, record } = request;
  const { backoff, clock, pulls } = deps;
  const waiting = backoff.waiting(pod.metadata.uid, image);
  if (waiting) {
    const message = `Back-off pulling image "${image}"`;
    record('Normal', 'BackOff', message);
    throw failure(request, 'ImagePullBackOff', `${message}: ${waiting.error}`, { retryAfterMs: waiting.remainingMs });
  }
  record('Normal', 'Pulling', `Pulling image "${image}"`);
  const began = clock.monotonic();
  try {
    const pulled = await pulls.pull(spec.image, (own) => pullOnce(spec, request, deps, own), signal);
    const waited = clock.monotonic() - began;
    const times = `${wholeMs(pulled.tookMs)} (${wholeMs(waited)} including waiting)`;
    const size = `Image size: ${pulled.status?.size ?? 0n} bytes.`;
    record('Normal', 'Pulled', `Successfully pulled image "${image}" in ${times}. ${size}`);
    return { ref: pulled.ref, user: userOf(pulled.status ?? (await inspect(spec, request, deps, signal))) };
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof PodError) throw error;
    record('Warning', 'Failed', `Failed to pull image "${image}": ${errorText(error)}`);
    const { reason, message } = judgePullError(image, errorText(error));
    const retryAfterMs = backoff.failed(pod.metadata.uid, image, `${reason}: ${message}`);
    throw failure(request, reason, message, { cause: error, retryAfterMs });
  }
}

async function pullOnce(
  spec: ImageSpec,
  { sandboxConfig }: ImageRequest,
  { images, clock }: ImageDeps,
  signal: AbortSignal,
): Promise<PulledImage> {
  const began = clock.monotonic();
  const { imageRef } = await images.pullImage(PullImageRequest.fromPartial({ image: spec, sandboxConfig }), signal);
  const status = await images.imageStatus(ImageStatusRequest.fromPartial({ image: spec }), signal).then(
    (response) => response.image,
    () => undefined,
  );
  return { ref: imageRef, status, tookMs: clock.monotonic() - began };
}

const PULL_ERROR_MARKS = [
  { reason: 'RegistryUnavailable', because: 'the registry is unavailable' },
  { reason: 'SignatureValidationFailed', because: 'the signature validation failed' },
] as const;

/** Runtimes mark some failures by the first word of their message. */
function judgePullError(image: string, text: string): { reason: PodErrorReason; message: string } {
  const mark = PULL_ERROR_MARKS.find(({ reason }) => text.startsWith(reason));
  if (!mark) return { reason: 'ErrImagePull', message: text };
  const details = text.slice(mark.reason.length);
  return { reason: mark.reason, message: `image pull failed for ${image} because ${mark.because}${details}` };
}

interface FailureDetails {
  /** The reason of an event of its own, told before the one that every failure gets. */
  readonly event?: string;
  readonly retryAfterMs?: number;
  readonly cause?: unknown;
}

function failure({ record }: ImageRequest, reason: PodErrorReason, message: string, details: FailureDetails): PodError {
  const { event, ...options } = details;
  if (event !== undefined) record('Warning', event, message);
  record('Warning', 'Failed', `Error: ${reason}`);
  return new PodError(reason, message, { ...options, silent: true });
}

function userOf(image: Image | undefined): ImageUser {
  return { uid: image?.uid?.value, username: image?.username ?? '' };
}

function errorText(error: unknown): string {
  return error instanceof CriError ? rpcErrorText(error) : textOf(error);
}

function wholeMs(ms: number): string {
  return formatDurationMs(Math.trunc(ms));
}
