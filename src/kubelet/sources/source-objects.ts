import type { Decoded, Manifest } from '../../api/decode/decode-manifest.ts';
import type { ManifestError } from '../../api/decode/manifest-error.ts';
import { defaultClaim, defaultPersistentVolume } from '../../api/defaults/default-claim.ts';
import type {
  ConfigMap,
  NamedMeta,
  PersistentVolume,
  PersistentVolumeClaim,
  RuntimeClass,
  Secret,
} from '../../api/generated/core-v1.ts';
import type { FieldErrors } from '../../api/validation/field-error.ts';
import { locateFieldErrors } from '../../api/validation/locate-field-errors.ts';
import { validateClaim } from '../../api/validation/validate-claim.ts';
import {
  validateConfigMap,
  validateRuntimeClass,
  validateSecret,
} from '../../api/validation/validate-config-objects.ts';
import { validatePersistentVolume } from '../../api/validation/validate-persistent-volume.ts';

/** Objects in manifests that pods may reference. Defaulted and valid. */
export interface SourceObjects {
  readonly configMaps: readonly ConfigMap[];
  readonly secrets: readonly Secret[];
  readonly runtimeClasses: readonly RuntimeClass[];
  readonly claims: readonly PersistentVolumeClaim[];
  readonly volumes: readonly PersistentVolume[];
}

export const NO_OBJECTS: SourceObjects = { configMaps: [], secrets: [], runtimeClasses: [], claims: [], volumes: [] };

interface Named {
  readonly metadata: NamedMeta;
}

/** Decodes, defaults and validates the objects of a manifest. Invalid objects are left out. */
export function decodeObjects(manifest: Manifest): { objects: SourceObjects; errors: readonly ManifestError[] } {
  const errors: ManifestError[] = [];
  const valid = <T>(all: readonly Decoded<T>[], complete: (object: T) => T, check: (object: T) => FieldErrors): T[] =>
    all.flatMap((decoded) => {
      const object = complete(decoded.object);
      const found = locateFieldErrors(check(object), decoded);
      errors.push(...found);
      return found.length === 0 ? [object] : [];
    });
  const objects = {
    configMaps: valid(manifest.configMaps, withDefaultNamespace, validateConfigMap),
    secrets: valid(manifest.secrets, (secret) => withType(withDefaultNamespace(secret)), validateSecret),
    runtimeClasses: valid(manifest.runtimeClasses, (runtimeClass) => runtimeClass, validateRuntimeClass),
    claims: valid(manifest.claims, (claim) => defaultClaim(withDefaultNamespace(claim)), validateClaim),
    volumes: valid(manifest.volumes, defaultPersistentVolume, validatePersistentVolume),
  };
  return { objects, errors };
}

export function withDefaultNamespace<T extends Named>(object: T): T {
  const { metadata } = object;
  return { ...object, metadata: { ...metadata, namespace: metadata.namespace || 'default' } };
}

function withType(secret: Secret): Secret {
  return { ...secret, type: secret.type || 'Opaque' };
}

/** Joins the objects of several manifests. */
export function joinObjects(all: readonly SourceObjects[]): SourceObjects {
  return {
    configMaps: all.flatMap(({ configMaps }) => configMaps),
    secrets: all.flatMap(({ secrets }) => secrets),
    runtimeClasses: all.flatMap(({ runtimeClasses }) => runtimeClasses),
    claims: all.flatMap(({ claims }) => claims),
    volumes: all.flatMap(({ volumes }) => volumes),
  };
}

/** Adds the previous objects whose names are missing now. */
export function retainMissingObjects(before: SourceObjects, now: SourceObjects): SourceObjects {
  const kept = <T extends Named>(old: readonly T[], all: readonly T[]): T[] => {
    const names = new Set(all.map(objectName));
    return [...all, ...old.filter((object) => !names.has(objectName(object)))];
  };
  return {
    configMaps: kept(before.configMaps, now.configMaps),
    secrets: kept(before.secrets, now.secrets),
    runtimeClasses: kept(before.runtimeClasses, now.runtimeClasses),
    claims: kept(before.claims, now.claims),
    volumes: kept(before.volumes, now.volumes),
  };
}

/** The first object of each name, and the names of the duplicates: `ConfigMap default/settings`. */
export function firstOfEachName(objects: SourceObjects): { unique: SourceObjects; duplicates: readonly string[] } {
  const duplicates: string[] = [];
  const firsts = <T extends Named>(kind: string, all: readonly T[]): T[] => {
    const seen = new Set<string>();
    return all.filter((object) => {
      const isFirst = !seen.has(objectName(object));
      seen.add(objectName(object));
      if (!isFirst) duplicates.push(`${kind} ${objectName(object)}`);
      return isFirst;
    });
  };
  const unique = {
    configMaps: firsts('ConfigMap', objects.configMaps),
    secrets: firsts('Secret', objects.secrets),
    runtimeClasses: firsts('RuntimeClass', objects.runtimeClasses),
    claims: firsts('PersistentVolumeClaim', objects.claims),
    volumes: firsts('PersistentVolume', objects.volumes),
  };
  return { unique, duplicates };
}

/** `default/settings`; only the name for cluster-scoped objects. */
function objectName({ metadata: { namespace, name } }: Named): string {
  return namespace ? `${namespace}/${name}` : name;
}
