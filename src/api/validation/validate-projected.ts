/** Volumes that are made of files from several places. */

import type {
  DownwardAPIVolumeFile,
  KeyToPath,
  Pod,
  ProjectedVolumeSource,
  ServiceAccountTokenProjection,
} from '../generated/core-v1.ts';
import { type FieldErrors, forbidden, invalid, required } from './field-error.ts';
import { validateFieldRef, validateResourceFieldRef } from './validate-field-ref.ts';
import { fileMode, projectedPath } from './validate-paths.ts';
import { validatePodCertificate, validateTrustBundle } from './validate-trust.ts';

const FIELD_PATHS = ['metadata.annotations', 'metadata.labels', 'metadata.name', 'metadata.namespace', 'metadata.uid'];

export function* validateKeyToPath(path: string, item: KeyToPath): FieldErrors {
  if (item.key === '') yield required(`${path}.key`);
  if (item.path === '') yield required(`${path}.path`);
  yield* projectedPath(`${path}.path`, item.path);
  yield* fileMode(`${path}.mode`, item.mode);
}

/** The API server names the list here, not the file. */
export function* validateDownwardFile(path: string, file: DownwardAPIVolumeFile): FieldErrors {
  const { fieldRef, resourceFieldRef } = file;
  if (file.path === '') yield required(`${path}.path`);
  yield* projectedPath(`${path}.path`, file.path);
  if (fieldRef) {
    yield* validateFieldRef(`${path}.fieldRef`, fieldRef, FIELD_PATHS);
    if (resourceFieldRef) {
      yield invalid(path, 'resource', 'fieldRef and resourceFieldRef can not be specified simultaneously');
    }
  } else if (resourceFieldRef) {
    yield* validateResourceFieldRef(`${path}.resourceFieldRef`, resourceFieldRef, { inVolume: true });
  } else {
    yield required(path, 'one of fieldRef and resourceFieldRef is required');
  }
  yield* fileMode(`${path}.mode`, file.mode);
}

export function* validateProjected(path: string, { defaultMode, sources = [] }: ProjectedVolumeSource): FieldErrors {
  yield* fileMode(`${path}.defaultMode`, defaultMode);
  const taken = new Set<string>();
  for (const [index, source] of sources.entries()) {
    const at = `${path}.sources[${index}]`;
    yield* validateKeys(`${at}.secret`, source.secret, { volume: path, taken });
    yield* validateKeys(`${at}.configMap`, source.configMap, { volume: path, taken });
    for (const file of source.downwardAPI?.items ?? []) {
      yield* validateDownwardFile(`${at}.downwardAPI`, file);
      yield* takePath(path, file.path, file.path, taken);
    }
    if (source.serviceAccountToken) {
      yield* validateToken(`${at}.serviceAccountToken`, source.serviceAccountToken, path);
    }
    const take = (file: string): FieldErrors => takePath(path, file, file, taken);
    const { clusterTrustBundle, podCertificate } = source;
    if (clusterTrustBundle) yield* validateTrustBundle(`${at}.clusterTrustBundle`, clusterTrustBundle, take);
    if (podCertificate) yield* validatePodCertificate(`${at}.podCertificate`, podCertificate, take);
    if (Object.values(source).filter((part) => part !== undefined).length > 1) {
      yield forbidden(at, 'may not specify more than 1 volume type per source');
    }
  }
}

/** A token is the token of some account. */
export function* tokensNeedAccount({ spec }: Pod): FieldErrors {
  if (spec.serviceAccountName) return;
  for (const [index, { projected }] of (spec.volumes ?? []).entries()) {
    for (const [sourceIndex, { serviceAccountToken }] of (projected?.sources ?? []).entries()) {
      if (!serviceAccountToken) continue;
      const path = `spec.volumes[${index}].projected.sources[${sourceIndex}].serviceAccountToken`;
      yield forbidden(path, 'must not be specified when serviceAccountName is not set');
    }
  }
}

interface Keys {
  readonly name?: string | undefined;
  readonly items?: readonly KeyToPath[] | undefined;
}

function* validateKeys(
  path: string,
  keys: Keys | undefined,
  { volume, taken }: { volume: string; taken: Set<string> },
): FieldErrors {
  if (!keys) return;
  if (!keys.name) yield required(`${path}.name`);
  for (const [index, item] of (keys.items ?? []).entries()) {
    yield* validateKeyToPath(`${path}.items[${index}]`, item);
    yield* takePath(volume, item.path, keys.name ?? '', taken);
  }
}

/** Two sources cannot write the same file. */
function* takePath(volume: string, file: string, owner: string, taken: Set<string>): FieldErrors {
  if (file === '') return;
  if (taken.has(file)) yield invalid(volume, owner, 'conflicting duplicate paths');
  taken.add(file);
}

function* validateToken(path: string, token: ServiceAccountTokenProjection, volume: string): FieldErrors {
  const seconds = token.expirationSeconds ?? 0;
  if (seconds < 600) {
    yield invalid(`${path}.expirationSeconds`, seconds, 'may not specify a duration less than 10 minutes');
  }
  if (seconds > 2 ** 32) {
    yield invalid(`${path}.expirationSeconds`, seconds, 'may not specify a duration larger than 2^32 seconds');
  }
  if (token.path === '') yield required(`${volume}.path`);
  else yield* projectedPath(`${volume}.path`, token.path);
}
