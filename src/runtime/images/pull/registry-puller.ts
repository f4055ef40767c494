import { type ImageName, ImageNameError, parseImageName } from '../../../base/image-name.ts';
import { textOf } from '../../../base/text-of.ts';
import { type CriCode, CriError } from '../../../cri/cri-error.ts';
import type { AuthConfig } from '../../../cri/generated/runtime-v1.ts';
import type { Clock } from '../../../host/clock.ts';
import { NetworkError } from '../../../host/network.ts';
import { digestOf, verifyDigest } from '../digest.ts';
import type { ImageIngest } from '../image-ingest.ts';
import type { StoredImage } from '../image-store.ts';
import { choosePlatform, type Descriptor, type Manifest, parseManifest, platformsOf } from '../manifest.ts';
import { blobBytes, SILENCE_MS } from './registry-blob.ts';
import {
  MAX_SMALL_BYTES,
  RegistryError,
  type RegistryNetwork,
  RegistrySession,
  smallBody,
} from './registry-session.ts';

export interface PullerDeps {
  readonly network: RegistryNetwork;
  readonly clock: Clock;
  readonly ingest: ImageIngest;
  /** As Go names it: `amd64`. */
  readonly architecture: string;
}

export interface Puller {
  /** Rejects with a `CriError`: `NotFound` when the registry does not have it, `InvalidArgument` for a name that is none. */
  pull(image: string, auth: AuthConfig | undefined, signal: AbortSignal): Promise<StoredImage>;
}

const ACCEPTED = [
  'application/vnd.oci.image.index.v1+json',
  'application/vnd.oci.image.manifest.v1+json',
  'application/vnd.docker.distribution.manifest.list.v2+json',
  'application/vnd.docker.distribution.manifest.v2+json',
].join(', ');

/** Pulls from registries of the OCI distribution specification. */
export function createRegistryPuller(deps: PullerDeps): Puller {
  return {
    async pull(image, auth, signal) {
      const name = parsedName(image);
      try {
        return await pull(deps, name, auth, signal);
      } catch (error) {
        signal.throwIfAborted();
        throw new CriError(codeOf(error), `failed to pull image "${wholeName(name)}": ${textOf(error)}`, {
          cause: error,
        });
      }
    },
  };
}

async function pull(
  { network, clock, ingest, architecture }: PullerDeps,
  name: ImageName,
  auth: AuthConfig | undefined,
  signal: AbortSignal,
): Promise<StoredImage> {
  const session = new RegistrySession(network, name.domain, name.path, auth);
  const { named, image } = await inTime(clock, signal, async (until) => {
    const named = await fetchManifest(session, name.digest ?? name.tag ?? 'latest', name.digest, until);
    return { named, image: await imageOf(session, named, architecture, until) };
  });
  const { config, layers, size } = image;
  const configBytes = await collected(blobBytes(session, config.digest, clock, signal), config);
  return ingest.ingest(
    {
      references: [wholeName(name), `${name.domain}/${name.path}@${named.digest}`],
      config: configBytes,
      layers: layers.map(({ digest }) => ({ digest, open: (until) => blobBytes(session, digest, clock, until) })),
      sizeBytes: layers.reduce((sum, layer) => sum + layer.size, config.size + size),
    },
    signal,
  );
}

/** Manifests are small: there is no progress to look at. */
async function inTime<T>(clock: Clock, signal: AbortSignal, work: (until: AbortSignal) => Promise<T>): Promise<T> {
  const limit = clock.deadline(SILENCE_MS);
  try {
    return await work(AbortSignal.any([signal, limit]));
  } catch (error) {
    if (!limit.aborted) throw error;
    throw new NetworkError('ETIMEDOUT', `no manifest came for ${SILENCE_MS / 60_000} minutes`, { cause: error });
  }
}

interface FetchedManifest {
  readonly digest: string;
  readonly size: number;
  readonly manifest: Manifest;
}

async function fetchManifest(
  session: RegistrySession,
  reference: string,
  digest: string | undefined,
  signal: AbortSignal,
): Promise<FetchedManifest> {
  const data = await smallBody(await session.get(`manifests/${reference}`, [['Accept', ACCEPTED]], signal));
  if (digest !== undefined) verifyDigest(data, digest, 'manifest');
  return { digest: digest ?? digestOf(data), size: data.length, manifest: parseManifest(data) };
}

/** The image itself, or the one of an index that is for this machine. */
async function imageOf(
  session: RegistrySession,
  named: FetchedManifest,
  architecture: string,
  signal: AbortSignal,
): Promise<{ readonly config: Descriptor; readonly layers: readonly Descriptor[]; readonly size: number }> {
  if (named.manifest.kind === 'image') return { ...named.manifest, size: named.size };
  const { manifests } = named.manifest;
  const chosen = choosePlatform(manifests, architecture);
  if (!chosen) throw new SyntaxError(`no image for linux/${architecture}, only for ${platformsOf(manifests)}`);
  const { manifest, size } = await fetchManifest(session, chosen.digest, chosen.digest, signal);
  if (manifest.kind === 'index') throw new SyntaxError('an index that leads to another index');
  return { ...manifest, size };
}

/** A configuration; not longer than its descriptor says. */
async function collected(bytes: AsyncIterable<Uint8Array>, { size, digest }: Descriptor): Promise<Uint8Array> {
  if (size > MAX_SMALL_BYTES) throw new SyntaxError(`configuration ${digest} has more than ${MAX_SMALL_BYTES} bytes`);
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of bytes) {
    length += chunk.length;
    if (length > size) break;
    chunks.push(chunk);
  }
  if (length !== size) throw new SyntaxError(`configuration ${digest} does not have its ${size} bytes`);
  const data = Buffer.concat(chunks);
  verifyDigest(data, digest, 'configuration');
  return data;
}

function parsedName(image: string): ImageName {
  try {
    return parseImageName(image);
  } catch (error) {
    if (!(error instanceof ImageNameError)) throw error;
    throw new CriError('InvalidArgument', `image.image: ${error.message}`, { cause: error });
  }
}

function wholeName({ domain, path, tag, digest }: ImageName): string {
  return `${domain}/${path}${digest === undefined ? `:${tag}` : `@${digest}`}`;
}

function codeOf(error: unknown): CriCode {
  if (error instanceof RegistryError && error.status === 404) return 'NotFound';
  return 'Unknown'; // as containerd: kubelet tells these apart by their text
}
