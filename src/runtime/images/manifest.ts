import { isDigest } from './digest.ts';
import { type JsonObject, listField, numberField, objectOf, parseObject, textField, textMap } from './json-fields.ts';

export interface Descriptor {
  readonly mediaType: string;
  readonly digest: string;
  readonly size: number;
  readonly annotations: Readonly<Record<string, string>>;
  readonly platform?: Platform;
}

export interface Platform {
  readonly os: string;
  /** As Go names it: `amd64`. */
  readonly architecture: string;
  /** `v7` */
  readonly variant: string;
}

/** What a registry or an archive has under a digest: one image, or a choice of several. */
export type Manifest =
  | { readonly kind: 'image'; readonly config: Descriptor; readonly layers: readonly Descriptor[] }
  | { readonly kind: 'index'; readonly manifests: readonly Descriptor[] };

/** OCI's manifests and indexes, and Docker's version 2 of both. Throws a `SyntaxError`. */
export function parseManifest(data: Uint8Array): Manifest {
  const whole = parseObject(data, 'manifest');
  if (numberField(whole, 'schemaVersion') !== 2) throw new SyntaxError('manifest: only schemaVersion 2 is supported');
  const config = objectOf(whole['config']);
  if (config) return { kind: 'image', config: parseDescriptor(config), layers: descriptors(whole, 'layers') };
  if (Array.isArray(whole['manifests'])) return { kind: 'index', manifests: descriptors(whole, 'manifests') };
  throw new SyntaxError('manifest: has neither a configuration nor manifests');
}

/** The one that fits this machine best, in the index's order; one that says nothing fits. */
export function choosePlatform(manifests: readonly Descriptor[], architecture: string): Descriptor | undefined {
  const fitting = manifests.filter(({ platform }) => platform === undefined || fits(platform, architecture));
  // The oldest variant runs on every machine of the architecture.
  return fitting.toSorted((a, b) => variantRank(a) - variantRank(b))[0];
}

/** `linux/arm64, linux/amd64` for a message. */
export function platformsOf(manifests: readonly Descriptor[]): string {
  const names = manifests.flatMap(({ platform }) => (platform ? [`${platform.os}/${platform.architecture}`] : []));
  return [...new Set(names)].join(', ');
}

function fits({ os, architecture }: Platform, wanted: string): boolean {
  return os === 'linux' && architecture === wanted;
}

function variantRank({ platform }: Descriptor): number {
  return Number(/^v(\d+)$/.exec(platform?.variant ?? '')?.[1] ?? 0);
}

function descriptors(object: JsonObject, key: string): readonly Descriptor[] {
  return listField(object, key).map((each) => parseDescriptor(objectOf(each)));
}

function parseDescriptor(object: JsonObject | undefined): Descriptor {
  const digest = textField(object, 'digest');
  if (!isDigest(digest)) throw new SyntaxError(`manifest: unsupported digest ${JSON.stringify(digest)}`);
  const platform = objectOf(object?.['platform']);
  return {
    mediaType: textField(object, 'mediaType'),
    digest,
    size: numberField(object, 'size'),
    annotations: textMap(object, 'annotations'),
    ...(platform
      ? {
          platform: {
            os: textField(platform, 'os'),
            architecture: textField(platform, 'architecture'),
            variant: textField(platform, 'variant'),
          },
        }
      : {}),
  };
}
