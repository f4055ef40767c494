import { isDigest } from '../storage/digest.ts';
import {
  asObject,
  type JsonObject,
  listField,
  parseObject,
  stringField,
  stringList,
  stringMap,
} from './json-fields.ts';
import { type Platform, platformRank, platformText } from './platform.ts';

export interface Descriptor {
  readonly mediaType: string;
  readonly digest: string;
  readonly size: number;
  readonly annotations: Readonly<Record<string, string>>;
  /** Alternative locations. */
  readonly urls: readonly string[];
  readonly platform?: Platform;
}

/** The content of a manifest digest: one image, or an index of several. */
export type Manifest =
  | { readonly kind: 'image'; readonly config: Descriptor; readonly layers: readonly Descriptor[] }
  | { readonly kind: 'index'; readonly manifests: readonly Descriptor[] };

/** More than any file system can stack. */
const MAX_LAYERS = 1000;

/** Parses OCI's manifests and indexes, and Docker's version 2 of both. Throws `SyntaxError`. */
export function parseManifest(data: Uint8Array): Manifest {
  const whole = parseObject(data, 'manifest');
  if (whole['schemaVersion'] === 1) {
    throw new SyntaxError(
      'manifest: Docker schema 1 is not supported; the image has to be pushed again by a newer tool',
    );
  }
  if (whole['schemaVersion'] !== 2) throw new SyntaxError('manifest: only schemaVersion 2 is supported');
  const isImage = whole['config'] !== undefined || whole['layers'] !== undefined;
  const isIndex = whole['manifests'] !== undefined;
  if (isImage && isIndex) throw new SyntaxError('manifest: is both an image and an index');
  if (isIndex) return { kind: 'index', manifests: descriptors(whole, 'manifests') };
  const config = asObject(whole['config']);
  if (!config) throw new SyntaxError('manifest: has neither a configuration nor manifests');
  const layers = descriptors(whole, 'layers');
  if (layers.length > MAX_LAYERS) throw new SyntaxError(`manifest: has ${layers.length} layers`);
  return { kind: 'image', config: parseDescriptor(config), layers };
}

/**
 * Returns the best match for this machine, the first of equals. A manifest without a platform ranks after all matches.
 */
export function choosePlatform(manifests: readonly Descriptor[], architecture: string): Descriptor | undefined {
  const fitting = manifests.flatMap((manifest) => {
    const rank =
      manifest.platform === undefined ? Number.POSITIVE_INFINITY : platformRank(manifest.platform, architecture);
    return rank === undefined ? [] : [{ manifest, rank }];
  });
  return fitting.toSorted((a, b) => (a.rank < b.rank ? -1 : Number(a.rank > b.rank)))[0]?.manifest;
}

/** Returns `linux/arm64, linux/amd64` for a message. */
export function platformsText(manifests: readonly Descriptor[]): string {
  const names = manifests.flatMap(({ platform }) => (platform ? [platformText(platform)] : []));
  return [...new Set(names)].join(', ');
}

export function parsePlatform(object: JsonObject): Platform {
  return {
    os: stringField(object, 'os'),
    architecture: stringField(object, 'architecture'),
    variant: stringField(object, 'variant'),
    features: stringList(object, 'os.features'),
  };
}

function descriptors(object: JsonObject, key: string): readonly Descriptor[] {
  return listField(object, key).map((each) => parseDescriptor(asObject(each)));
}

function parseDescriptor(object: JsonObject | undefined): Descriptor {
  const digest = stringField(object, 'digest');
  if (!isDigest(digest)) throw new SyntaxError(`manifest: unsupported digest ${JSON.stringify(digest)}`);
  const size = object?.['size'];
  if (typeof size !== 'number' || !Number.isSafeInteger(size) || size < 0) {
    throw new SyntaxError(`manifest: ${digest} has no size`);
  }
  const platform = asObject(object?.['platform']);
  return {
    mediaType: stringField(object, 'mediaType'),
    digest,
    size,
    annotations: stringMap(object, 'annotations'),
    urls: stringList(object, 'urls'),
    ...(platform && { platform: parsePlatform(platform) }),
  };
}
