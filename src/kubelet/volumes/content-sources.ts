import { Buffer } from 'node:buffer';
import { isDeepStrictEqual } from 'node:util';
import { allContainers } from '../../api/all-containers.ts';
import type {
  ConfigMap,
  ConfigMapProjection,
  DownwardAPIVolumeFile,
  Pod,
  PodCertificateProjection,
  Secret,
  SecretProjection,
  VolumeProjection,
} from '../../api/generated/core-v1.ts';
import { assertNever } from '../../base/assert-never.ts';
import { errorText } from '../../base/error-text.ts';
import { ObjectError, type PodObjects } from '../objects/pod-objects.ts';
import {
  PodCertificateError,
  type PodCertificates,
  type PodCredentials,
} from '../pod-certificates/pod-certificates.ts';
import { type PodTokens, TokenError } from '../tokens/pod-tokens.ts';
import { TrustBundleError, type TrustBundles } from '../trust-bundles/trust-bundles.ts';
import { type DownwardContext, downwardContent } from './downward-content.ts';
import { configMapContent, secretContent } from './object-content.ts';
import type { VolumeContent, VolumeFile } from './volume-content.ts';

export interface ContentSourceDeps {
  readonly objects: PodObjects;
  readonly tokens: PodTokens;
  readonly trustBundles: TrustBundles;
  readonly podCertificates: PodCertificates;
}

/** The projected sources of one volume. */
export interface VolumeSources {
  readonly volume: string;
  readonly sources: readonly VolumeProjection[];
}

/** The result of a lookup: an object or the error. */
type Lookup<T, E extends Error = ObjectError> = { readonly object: T } | { readonly error: E };

/** A projected source with the object, token or certificate that it refers to. */
export type ResolvedSource =
  | { readonly kind: 'configMap'; readonly keys: ConfigMapProjection; readonly found: Lookup<ConfigMap> }
  | { readonly kind: 'secret'; readonly keys: SecretProjection; readonly found: Lookup<Secret> }
  | { readonly kind: 'downwardAPI'; readonly items: readonly DownwardAPIVolumeFile[] }
  | { readonly kind: 'token'; readonly path: string; readonly found: Lookup<string, TokenError> }
  | { readonly kind: 'trustBundle'; readonly path: string; readonly found: Lookup<string, TrustBundleError> }
  | {
      readonly kind: 'certificate';
      readonly files: PodCertificateProjection;
      readonly found: Lookup<PodCredentials, PodCertificateError>;
    };

/** Mode of files that only their owner reads. A pod's fsGroup adds read access for the group. */
const PRIVATE_MODE = 0o600;

/** Looks up the objects, tokens and certificates of all sources. Immutable objects that were found `before` are not requested again. */
export function resolveSources(
  { volume, sources }: VolumeSources,
  pod: Pod,
  deps: ContentSourceDeps,
  before: readonly ResolvedSource[] | undefined,
  signal: AbortSignal,
): Promise<ResolvedSource[]> {
  const resolve = async (source: VolumeProjection, index: number): Promise<ResolvedSource> => {
    const known = before?.[index];
    if (known && resolvedObject(known)?.immutable) return known;
    const { podCertificate } = source;
    if (!podCertificate) return resolveSource(source, pod, deps, signal);
    const wanted = { volume, index, projection: podCertificate };
    const found = await lookUp(deps.podCertificates.credentials(pod, wanted, signal), PodCertificateError);
    return { kind: 'certificate', files: podCertificate, found };
  };
  return Promise.all(sources.map(resolve));
}

async function resolveSource(
  source: VolumeProjection,
  pod: Pod,
  { objects, tokens, trustBundles }: ContentSourceDeps,
  signal: AbortSignal,
): Promise<ResolvedSource> {
  const { namespace, uid } = pod.metadata;
  const { configMap, secret, downwardAPI, serviceAccountToken, clusterTrustBundle } = source;
  if (configMap) {
    const found = await lookUp(objects.configMap(namespace, configMap.name ?? '', signal), ObjectError);
    return { kind: 'configMap', keys: configMap, found };
  }
  if (secret) {
    const found = await lookUp(objects.secret(namespace, secret.name ?? '', signal), ObjectError);
    return { kind: 'secret', keys: secret, found };
  }
  if (downwardAPI) return { kind: 'downwardAPI', items: downwardAPI.items ?? [] };
  if (serviceAccountToken) {
    const found = await lookUp(tokens.token(pod, serviceAccountToken, signal), TokenError);
    return { kind: 'token', path: serviceAccountToken.path, found };
  }
  if (clusterTrustBundle) {
    const found = await lookUp(trustBundles.trustAnchors(uid, clusterTrustBundle, signal), TrustBundleError);
    return { kind: 'trustBundle', path: clusterTrustBundle.path, found };
  }
  throw new Error(`source ${Object.keys(source).join(', ')} is not supported yet`);
}

async function lookUp<T, E extends Error>(
  request: Promise<T>,
  errorType: abstract new (...args: never) => E,
): Promise<Lookup<T, E>> {
  try {
    return { object: await request };
  } catch (error) {
    if (error instanceof errorType) return { error };
    throw error;
  }
}

/** Returns whether two resolutions of the same sources found the same objects. */
export function areSameSources(a: readonly ResolvedSource[], b: readonly ResolvedSource[]): boolean {
  return a.length === b.length && a.every((source, index) => isSameSource(source, b[index]));
}

function isSameSource(a: ResolvedSource, b: ResolvedSource | undefined): boolean {
  const object = resolvedObject(a);
  return (object !== undefined && object === resolvedObject(b)) || isDeepStrictEqual(a, b);
}

function resolvedObject(source: ResolvedSource | undefined): ConfigMap | Secret | undefined {
  if (source?.kind !== 'configMap' && source?.kind !== 'secret') return undefined;
  return 'object' in source.found ? source.found.object : undefined;
}

/** The files of all sources; of two files with the same path the later one wins. Throws one error with all messages. */
export function collectContent(
  sources: readonly ResolvedSource[],
  defaultMode: number,
  context: DownwardContext,
): VolumeContent {
  const files: [string, VolumeFile][] = [];
  /** By their text: equal errors are reported once. */
  const errors = new Map<string, unknown>();
  for (const source of sources) {
    try {
      files.push(...sourceContent(source, defaultMode, context));
    } catch (error) {
      for (const each of error instanceof AggregateError ? error.errors : [error]) {
        const text = errorText(each);
        if (!errors.has(text)) errors.set(text, each);
      }
    }
  }
  const [first, ...more] = errors;
  if (first === undefined) return new Map(files);
  if (more.length > 0) throw new Error(`[${[...errors.keys()].join(', ')}]`);
  const [message, cause] = first;
  throw new Error(message, { cause });
}

function sourceContent(source: ResolvedSource, defaultMode: number, context: DownwardContext): VolumeContent {
  switch (source.kind) {
    case 'configMap':
      return configMapContent(objectOrEmpty(source), source.keys, defaultMode);
    case 'secret':
      return secretContent(objectOrEmpty(source), source.keys, defaultMode);
    case 'downwardAPI':
      return downwardContent(source.items, defaultMode, context);
    case 'token':
    case 'trustBundle':
      return privateContent([[source.path, foundOrThrow(source.found)]], defaultMode, context.pod);
    case 'certificate':
      return privateContent(certificateFiles(source.files, foundOrThrow(source.found)), defaultMode, context.pod);
    default:
      return assertNever(source);
  }
}

/** A missing optional object has no keys. Throws the lookup's error for a required one. */
function objectOrEmpty<T extends ConfigMap | Secret>({
  keys,
  found,
}: {
  readonly keys: { readonly name?: string | undefined; readonly optional?: boolean | undefined };
  readonly found: Lookup<T>;
}): T | { readonly metadata: { readonly name: string } } {
  if ('object' in found) return found.object;
  if (keys.optional && found.error.isMissing) return { metadata: { name: keys.name ?? '' } };
  throw found.error;
}

function foundOrThrow<T>(found: Lookup<T, Error>): T {
  if ('error' in found) throw found.error;
  return found.object;
}

/** The files of a certificate that have a path. */
function certificateFiles(
  { credentialBundlePath, keyPath, certificateChainPath }: PodCertificateProjection,
  { key, chain }: PodCredentials,
): readonly (readonly [path: string, text: string])[] {
  const files = [
    [credentialBundlePath, `${key}${chain}`],
    [keyPath, key],
    [certificateChainPath, chain],
  ] as const;
  return files.flatMap(([path, text]) => (path ? [[path, text] as const] : []));
}

/** If all containers run as the same user or the pod has an fsGroup, only those can read the files. */
export function privateContent(
  files: readonly (readonly [path: string, text: string])[],
  defaultMode: number,
  pod: Pod,
): VolumeContent {
  const owner = commonUser(pod);
  const isPrivate = owner !== undefined || pod.spec.securityContext?.fsGroup !== undefined;
  const mode = isPrivate ? PRIVATE_MODE : defaultMode;
  return new Map(files.map(([path, text]) => [path, { data: Buffer.from(text), mode, owner }]));
}

/** The user that every container of the pod runs as; `undefined` if one does not set a user or they differ. */
function commonUser({ spec }: Pod): number | undefined {
  const users = allContainers(spec).map(
    ({ securityContext }) => securityContext?.runAsUser ?? spec.securityContext?.runAsUser,
  );
  return new Set(users).size === 1 ? users[0] : undefined;
}
