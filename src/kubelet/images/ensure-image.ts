import { errorText } from '../../base/error-text.ts';
import { repositoryOf, withDefaultTag } from '../../base/image-name.ts';
import { type Image, ImageSpec, ImageStatusRequest } from '../../cri/generated/runtime-v1.ts';
import { goErrorText } from '../../cri/go-error-text.ts';
import type { ImageUser } from '../sync/config/security-context.ts';
import { accessResult, decideImageAccess, matchPodCredentials } from './image-access.ts';
import { imageChannel } from './image-channel.ts';
import { recordImageError } from './image-error.ts';
import type { ImageRequest } from './image-request.ts';
import { type PullDeps, pulledFor, pullImage } from './pull-image.ts';
import type { PullCredential } from './registry-login.ts';

export interface ImageDeps extends PullDeps {
  /** All credentials with which the pod may pull from a repository, in the order in which they are tried. */
  readonly credentials: (
    repository: string,
    request: Pick<ImageRequest, 'pod' | 'pullSecrets'>,
    signal: AbortSignal,
  ) => Promise<readonly PullCredential[]>;
}

/** An image that is on the node. */
export interface PresentImage {
  /** The reference that containers are created from. */
  readonly ref: string;
  readonly user: ImageUser;
}

/**
 * Makes an image available according to the pull policy, and checks that the pod may use it. Rejects with a `PodError`;
 * events about the image are already recorded, its own is not. Its `retryAfterMs` is the back-off.
 */
export async function ensureImage(request: ImageRequest, deps: ImageDeps, signal: AbortSignal): Promise<PresentImage> {
  const found: Found = { isPresent: undefined, mustPull: undefined };
  try {
    return await ensureUsable(request, found, deps, signal);
  } finally {
    imageChannel.publish({ kind: 'requested', pullPolicy: request.pullPolicy, ...found });
  }
}

/** What became known about a requested image. */
interface Found {
  isPresent: boolean | undefined;
  mustPull: boolean | undefined;
}

async function ensureUsable(
  request: ImageRequest,
  found: Found,
  deps: ImageDeps,
  signal: AbortSignal,
): Promise<PresentImage> {
  const { image, pullPolicy } = request;
  const spec = imageSpec(request);
  let known: Promise<readonly PullCredential[]> | undefined;
  const credentials: Credentials = () => (known ??= deps.credentials(repositoryOf(spec.image), request, signal));

  for (;;) {
    const { completed } = deps.pulls;
    const present =
      pullPolicy === 'Always' ? undefined : await usableImage(spec, { request, found }, credentials, deps, signal);
    if (present) return { ref: present.id, user: imageUser(present) };
    found.mustPull = true;
    const toTry = pullPolicy === 'Never' ? undefined : await credentials();
    // A pull that has completed meanwhile may have been of this image: check again.
    if (pullPolicy !== 'Always' && completed !== deps.pulls.completed) continue;
    if (!toTry) {
      // Also if the image exists: a pod that may not use it must not learn that.
      const message = `Container image "${image}" is not present with pull policy of Never`;
      throw recordImageError(request, 'ErrImageNeverPull', message, { event: 'ErrImageNeverPull' });
    }
    const pulled = await pullImage(spec, request, toTry, deps, signal);
    return { ref: pulled.ref, user: imageUser(pulled.status ?? (await imageStatus(spec, request, deps, signal))) };
  }
}

type Credentials = () => Promise<readonly PullCredential[]>;

function imageSpec(request: ImageRequest): ImageSpec {
  try {
    const annotations = { ...request.pod.metadata.annotations };
    return ImageSpec.fromPartial({ image: withDefaultTag(request.image), annotations });
  } catch (error) {
    const message = `Failed to apply default image tag "${request.image}": ${errorText(error)}`;
    throw recordImageError(request, 'InvalidImageName', message, { event: 'InspectFailed' });
  }
}

/** The image, if it is present and the pod may use it. */
async function usableImage(
  spec: ImageSpec,
  { request, found }: { readonly request: ImageRequest; readonly found: Found },
  credentials: Credentials,
  deps: ImageDeps,
  signal: AbortSignal,
): Promise<Image | undefined> {
  const { image, record } = request;
  const present = await imageStatus(spec, request, deps, signal);
  found.isPresent = present !== undefined;
  if (!present || !(await mayUse(image, present.id, credentials, deps))) return undefined;
  found.mustPull = false;
  const access = deps.verification ? ' and can be accessed by the pod' : '';
  const message = `Container image "${image}" already present on machine${access}`;
  record('Normal', 'Pulled', message, { kind: 'imagePresent', image });
  return present;
}

async function imageStatus(
  spec: ImageSpec,
  request: ImageRequest,
  { images }: ImageDeps,
  signal: AbortSignal,
): Promise<Image | undefined> {
  try {
    const { image } = await images.imageStatus(ImageStatusRequest.fromPartial({ image: spec }), signal);
    if (image && (image.id === '' || image.size === 0n)) {
      throw new Error(`Id or size of image "${spec.image}" is not set`);
    }
    return image;
  } catch (error) {
    signal.throwIfAborted();
    // The empty name is upstream's: it prints the reference before it is resolved.
    throw recordImageError(request, 'ImageInspectError', `Failed to inspect image "": ${goErrorText(error)}`, {
      event: 'InspectFailed',
      cause: error,
    });
  }
}

async function mayUse(
  image: string,
  imageRef: string,
  credentials: Credentials,
  { verification }: ImageDeps,
): Promise<boolean> {
  if (!verification) return true;
  const { policy, records } = verification;
  const evidence = await records.evidence(image, imageRef);
  const decision = decideImageAccess(image, evidence, policy);
  if (decision.kind !== 'compare') {
    imageChannel.publish({ kind: 'accessChecked', result: accessResult(evidence, decision, image, policy) });
    return decision.kind === 'use';
  }
  const match = matchPodCredentials(decision.known, (await credentials()).map(pulledFor));
  const isKnown = match.kind !== 'pull';
  imageChannel.publish({ kind: 'accessChecked', result: isKnown ? 'credentialRecordFound' : 'mustAuthenticate' });
  if (match.kind === 'useAndRemember') await records.recordAccess(image, imageRef, { ...match, kind: 'secret' });
  return match.kind !== 'pull';
}

function imageUser(image: Image | undefined): ImageUser {
  return { uid: image?.uid?.value, username: image?.username ?? '' };
}
