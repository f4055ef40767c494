import { assertNever } from '../../base/assert-never.ts';
import { formatDurationMs } from '../../base/duration.ts';
import { errorText } from '../../base/error-text.ts';
import { type Image, type ImageSpec, ImageStatusRequest, PullImageRequest } from '../../cri/generated/runtime-v1.ts';
import { goErrorText } from '../../cri/go-error-text.ts';
import type { ImageService } from '../../cri/services.ts';
import type { Clock } from '../../host/clock.ts';
import { PodError } from '../pod/pod-error.ts';
import { imageChannel } from './image-channel.ts';
import { classifyPullError, recordImageError } from './image-error.ts';
import type { ImageRequest, Verification } from './image-request.ts';
import type { PulledFor } from './merge-pull-record.ts';
import type { PullBackoff } from './pull-backoff.ts';
import type { PullRateLimiter } from './pull-rate.ts';
import type { PullCredential } from './registry-login.ts';
import type { SharedPulls } from './shared-pulls.ts';

export interface PullDeps {
  readonly images: Pick<ImageService, 'imageStatus' | 'pullImage'>;
  /** Shared by the whole node: pods that need the same image with the same credentials share one pull. */
  readonly pulls: SharedPulls<PulledImage>;
  /** Shared by the whole node. */
  readonly backoff: PullBackoff;
  readonly rate: PullRateLimiter;
  readonly clock: Clock;
  /** Absent: every pod may use every present image. */
  readonly verification: Verification | undefined;
}

export interface PulledImage {
  readonly ref: string;
  /** Absent if the runtime did not return it. */
  readonly status: Image | undefined;
  /** The credential that worked. Absent: the pull needed none. */
  readonly credentialIndex: number | undefined;
  /** Without the time in the queue. */
  readonly tookMs: number;
}

/** Pulls an image unless the pod is in back-off. Rejects with a `PodError` whose own event is not recorded yet. */
export async function pullImage(
  spec: ImageSpec,
  request: ImageRequest,
  credentials: readonly PullCredential[],
  deps: PullDeps,
  signal: AbortSignal,
): Promise<PulledImage> {
  const { pod, image, record } = request;
  const { backoff, clock, pulls } = deps;
  const waiting = backoff.waiting(pod.metadata.uid, image);
  if (waiting) {
    const message = `Back-off pulling image "${image}"`;
    record('Normal', 'BackOff', message, { kind: 'pullBackoff' });
    const retryAfterMs = waiting.remainingMs;
    throw recordImageError(request, 'ImagePullBackOff', `${message}: ${waiting.error}`, { retryAfterMs });
  }
  const podUid = pod.metadata.uid;
  imageChannel.publish({ kind: 'pulling', podUid });
  record('Normal', 'Pulling', `Pulling image "${image}"`, { kind: 'imagePulling', image });
  const began = clock.monotonic();
  // The name as in the manifest, because the records on disk are by that name.
  const key = JSON.stringify([image, ...credentials.map(({ hash }) => hash)]);
  try {
    const pulled = await pulls.pull(key, (own) => pullOnce(spec, request, credentials, deps, own), signal);
    const tookMs = Math.trunc(clock.monotonic() - began);
    imageChannel.publish({ kind: 'pulled', podUid, tookMs, bytes: Number(pulled.status?.size ?? 0n) });
    const times = `${wholeMs(pulled.tookMs)} (${wholeMs(tookMs)} including waiting)`;
    const size = `Image size: ${pulled.status?.size ?? 0n} bytes.`;
    record('Normal', 'Pulled', `Successfully pulled image "${image}" in ${times}. ${size}`);
    await deps.verification?.records.recordAccess(image, pulled.ref, pulledForCredential(credentials, pulled));
    return pulled;
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof PodError) throw error;
    throw recordPullFailure(request, error, deps);
  }
}

function recordPullFailure(request: ImageRequest, error: unknown, { backoff }: PullDeps): PodError {
  const { pod, image, record } = request;
  const text = goErrorText(error);
  record('Warning', 'Failed', `Failed to pull image "${image}": ${text}`);
  const { reason, message } = classifyPullError(image, text);
  const retryAfterMs = backoff.failed(pod.metadata.uid, image, `${reason}: ${message}`);
  return recordImageError(request, reason, message, { cause: error, retryAfterMs });
}

/** One pull for all waiting pods, with its records on disk before and after. */
async function pullOnce(
  spec: ImageSpec,
  request: ImageRequest,
  credentials: readonly PullCredential[],
  deps: PullDeps,
  signal: AbortSignal,
): Promise<PulledImage> {
  const { verification, rate } = deps;
  const { image } = request;
  if (!rate.tryAccept()) throw new Error('pull QPS exceeded');
  await verification?.records.recordIntent(image).catch((error: unknown) => {
    const message = `Failed to record image pull intent for container image "${image}"`;
    throw new Error(`${message}: failed to record image pull intent: ${errorText(error)}`, { cause: error });
  });
  try {
    const pulled = await pullWithAny(spec, request, credentials, deps, signal);
    await verification?.records.recordPulled(image, pulled.ref, pulledForCredential(credentials, pulled));
    return pulled;
  } catch (error) {
    await verification?.records.recordPullFailed(image);
    throw error;
  }
}

/** Tries the credentials in turn. Rejects with all errors. */
async function pullWithAny(
  spec: ImageSpec,
  { sandboxConfig }: ImageRequest,
  credentials: readonly PullCredential[],
  { images, clock }: PullDeps,
  signal: AbortSignal,
): Promise<PulledImage> {
  const began = clock.monotonic();
  const errors: unknown[] = [];
  for (const [index, auth] of pullAttempts(credentials)) {
    try {
      const { imageRef } = await images.pullImage(
        PullImageRequest.fromPartial({ image: spec, sandboxConfig, ...(auth && { auth }) }),
        signal,
      );
      if (imageRef === '') throw new Error(`imageRef of image "${spec.image}" is not set`);
      const status = await images.imageStatus(ImageStatusRequest.fromPartial({ image: spec }), signal).then(
        (response) => response.image,
        () => undefined,
      );
      return { ref: imageRef, status, credentialIndex: index, tookMs: clock.monotonic() - began };
    } catch (error) {
      signal.throwIfAborted();
      errors.push(error);
    }
  }
  throw new AggregateError(errors);
}

type Attempt = readonly [index: number | undefined, auth: PullCredential['login'] | undefined];

function pullAttempts(credentials: readonly PullCredential[]): readonly Attempt[] {
  if (credentials.length === 0) return [[undefined, undefined]];
  return credentials.map(({ login }, index) => [index, login] as const);
}

/** Who a pull with this credential was for. */
export function pulledFor({ owner, hash }: PullCredential): PulledFor {
  switch (owner.kind) {
    case 'node':
      return { kind: 'everyPod' };
    case 'secret':
      return { kind: 'secret', secret: { ...owner.secret, credentialHash: hash } };
    case 'serviceAccount':
      return owner;
    default:
      return assertNever(owner);
  }
}

function pulledForCredential(credentials: readonly PullCredential[], { credentialIndex }: PulledImage): PulledFor {
  const credential = credentialIndex === undefined ? undefined : credentials[credentialIndex];
  return credential ? pulledFor(credential) : { kind: 'everyPod' };
}

function wholeMs(ms: number): string {
  return formatDurationMs(Math.trunc(ms));
}
