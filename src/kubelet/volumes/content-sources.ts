import { isDeepStrictEqual } from 'node:util';
import type {
  ConfigMap,
  ConfigMapProjection,
  DownwardAPIVolumeFile,
  Pod,
  Secret,
  SecretProjection,
  Volume,
  VolumeProjection,
} from '../../api/generated/core-v1.ts';
import { assertNever } from '../../base/assert-never.ts';
import { errorText } from '../../base/error-text.ts';
import { ObjectError, type PodObjects } from '../objects/pod-objects.ts';
import { type PodTokens, TokenError } from '../tokens/pod-tokens.ts';
import { type DownwardContext, downwardContent } from './downward-content.ts';
import { configMapContent, secretContent } from './object-content.ts';
import { tokenContent } from './token-content.ts';
import type { VolumeContent, VolumeFile } from './volume-content.ts';
import type { OwnVolumeType } from './volume-paths.ts';

/** A volume of files from elsewhere; whatever its type, it is put together from sources. */
export interface ContentVolume {
  readonly name: string;
  readonly type: Exclude<OwnVolumeType, 'emptyDir'>;
  readonly defaultMode: number;
  readonly sources: readonly VolumeProjection[];
}

/** What a source refers to, or why there is none. */
type Found<T, Lack extends Error = ObjectError> = { readonly object: T } | { readonly lack: Lack };

/** Where sources find what they refer to. */
export interface SourceOrigins {
  readonly objects: PodObjects;
  readonly tokens: PodTokens;
}

/** A source with what it refers to. */
export type FoundSource =
  | { readonly kind: 'configMap'; readonly keys: ConfigMapProjection; readonly found: Found<ConfigMap> }
  | { readonly kind: 'secret'; readonly keys: SecretProjection; readonly found: Found<Secret> }
  | { readonly kind: 'downwardAPI'; readonly items: readonly DownwardAPIVolumeFile[] }
  | { readonly kind: 'token'; readonly path: string; readonly found: Found<string, TokenError> };

const DEFAULT_MODE = 0o644;

/** `undefined` for a volume that is not made of files from elsewhere. */
export function contentVolume({ name, configMap, secret, downwardAPI, projected }: Volume): ContentVolume | undefined {
  const one = (
    type: ContentVolume['type'],
    defaultMode: number | undefined,
    source: VolumeProjection,
  ): ContentVolume => ({ name, type, defaultMode: defaultMode ?? DEFAULT_MODE, sources: [source] });
  if (configMap) return one('configMap', configMap.defaultMode, { configMap });
  if (secret) return one('secret', secret.defaultMode, { secret: { ...secret, name: secret.secretName } });
  if (downwardAPI) return one('downwardAPI', downwardAPI.defaultMode, { downwardAPI });
  if (!projected) return undefined;
  const { defaultMode = DEFAULT_MODE, sources = [] } = projected;
  return { name, type: 'projected', defaultMode, sources: sources.filter(saysSomething) };
}

/** The API server takes a source without a type. */
function saysSomething(source: VolumeProjection): boolean {
  return Object.values(source).some((part) => part !== undefined);
}

/** Asks for all that the volume's sources refer to. What was found before and is immutable is not asked for again. */
export function findSources(
  { sources }: ContentVolume,
  pod: Pod,
  { objects, tokens }: SourceOrigins,
  before: readonly FoundSource[] | undefined,
  signal: AbortSignal,
): Promise<FoundSource[]> {
  const { namespace } = pod.metadata;
  const find = async (source: VolumeProjection, index: number): Promise<FoundSource> => {
    const known = before?.[index];
    if (known && objectOf(known)?.immutable) return known;
    const { configMap, secret, downwardAPI, serviceAccountToken } = source;
    if (configMap) {
      const found = await orLack(objects.configMap(namespace, configMap.name ?? '', signal), ObjectError);
      return { kind: 'configMap', keys: configMap, found };
    }
    if (secret) {
      const found = await orLack(objects.secret(namespace, secret.name ?? '', signal), ObjectError);
      return { kind: 'secret', keys: secret, found };
    }
    if (downwardAPI) return { kind: 'downwardAPI', items: downwardAPI.items ?? [] };
    if (serviceAccountToken) {
      const found = await orLack(tokens.token(pod, serviceAccountToken, signal), TokenError);
      return { kind: 'token', path: serviceAccountToken.path, found };
    }
    throw new Error(`source ${Object.keys(source).join(', ')} is not supported yet`);
  };
  return Promise.all(sources.map(find));
}

async function orLack<T, Lack extends Error>(
  asked: Promise<T>,
  kind: abstract new (...args: never) => Lack,
): Promise<Found<T, Lack>> {
  try {
    return { object: await asked };
  } catch (error) {
    if (error instanceof kind) return { lack: error };
    throw error;
  }
}

/** Whether nothing that the sources refer to is another. */
export function areSameSources(a: readonly FoundSource[], b: readonly FoundSource[]): boolean {
  return a.length === b.length && a.every((source, index) => isSameSource(source, b[index]));
}

function isSameSource(a: FoundSource, b: FoundSource | undefined): boolean {
  const object = objectOf(a);
  return (object !== undefined && object === objectOf(b)) || isDeepStrictEqual(a, b);
}

function objectOf(source: FoundSource | undefined): ConfigMap | Secret | undefined {
  if (source === undefined || source.kind === 'downwardAPI' || source.kind === 'token') return undefined;
  return 'object' in source.found ? source.found.object : undefined;
}

/** All files of the volume; of two at one path the later counts. Throws one error that names every trouble. */
export function contentOf(
  sources: readonly FoundSource[],
  defaultMode: number,
  context: DownwardContext,
): VolumeContent {
  const files: [string, VolumeFile][] = [];
  const troubles = new Set<string>();
  for (const source of sources) {
    try {
      files.push(...sourceContent(source, defaultMode, context));
    } catch (error) {
      for (const each of error instanceof AggregateError ? error.errors : [error]) troubles.add(errorText(each));
    }
  }
  const [first, ...more] = troubles;
  if (first === undefined) return new Map(files);
  throw new Error(more.length > 0 ? `[${[...troubles].join(', ')}]` : first);
}

function sourceContent(source: FoundSource, defaultMode: number, context: DownwardContext): VolumeContent {
  switch (source.kind) {
    case 'configMap':
      return configMapContent(objectOrNothing(source), source.keys, defaultMode);
    case 'secret':
      return secretContent(objectOrNothing(source), source.keys, defaultMode);
    case 'downwardAPI':
      return downwardContent(source.items, defaultMode, context);
    case 'token':
      if ('lack' in source.found) throw source.found.lack;
      return tokenContent(source.path, source.found.object, defaultMode, context.pod);
    default:
      return assertNever(source);
  }
}

/** An optional object that is not there has no keys. Throws why a needed one could not be had. */
function objectOrNothing<T extends ConfigMap | Secret>({
  keys,
  found,
}: {
  readonly keys: { readonly name?: string | undefined; readonly optional?: boolean | undefined };
  readonly found: Found<T>;
}): T | { readonly metadata: { readonly name: string } } {
  if ('object' in found) return found.object;
  if (keys.optional && found.lack.isMissing) return { metadata: { name: keys.name ?? '' } };
  throw found.lack;
}
