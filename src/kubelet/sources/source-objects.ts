import type { Decoded, Manifest } from '../../api/decode/decode-manifest.ts';
import type { ManifestError } from '../../api/decode/manifest-error.ts';
import type { ConfigMap, NamedMeta, RuntimeClass, Secret } from '../../api/generated/core-v1.ts';
import type { FieldErrors } from '../../api/validation/field-error.ts';
import { locateFieldErrors } from '../../api/validation/locate-field-errors.ts';
import {
  validateConfigMap,
  validateRuntimeClass,
  validateSecret,
} from '../../api/validation/validate-config-objects.ts';

/** What stands beside the pods of a manifest, for them to refer to. Defaulted and valid. */
export interface SourceObjects {
  readonly configMaps: readonly ConfigMap[];
  readonly secrets: readonly Secret[];
  readonly runtimeClasses: readonly RuntimeClass[];
}

export const NO_OBJECTS: SourceObjects = { configMaps: [], secrets: [], runtimeClasses: [] };

interface Named {
  readonly metadata: NamedMeta;
}

/** The objects of a manifest, with the API server's defaults and checks. Those with a problem are left out. */
export function decodeObjects(manifest: Manifest): { objects: SourceObjects; problems: readonly ManifestError[] } {
  const problems: ManifestError[] = [];
  const valid = <T>(all: readonly Decoded<T>[], complete: (object: T) => T, check: (object: T) => FieldErrors): T[] =>
    all.flatMap((decoded) => {
      const object = complete(decoded.object);
      const faults = locateFieldErrors(check(object), decoded);
      problems.push(...faults);
      return faults.length === 0 ? [object] : [];
    });
  const objects = {
    configMaps: valid(manifest.configMaps, withDefaultNamespace, validateConfigMap),
    secrets: valid(manifest.secrets, (secret) => withType(withDefaultNamespace(secret)), validateSecret),
    runtimeClasses: valid(manifest.runtimeClasses, (runtimeClass) => runtimeClass, validateRuntimeClass),
  };
  return { objects, problems };
}

export function withDefaultNamespace<T extends Named>(object: T): T {
  const { metadata } = object;
  return { ...object, metadata: { ...metadata, namespace: metadata.namespace || 'default' } };
}

function withType(secret: Secret): Secret {
  return { ...secret, type: secret.type || 'Opaque' };
}

/** Those of several places as one. */
export function joinObjects(all: readonly SourceObjects[]): SourceObjects {
  return {
    configMaps: all.flatMap(({ configMaps }) => configMaps),
    secrets: all.flatMap(({ secrets }) => secrets),
    runtimeClasses: all.flatMap(({ runtimeClasses }) => runtimeClasses),
  };
}

/** Those of now, and those of before that are not among them. */
export function retainMissingObjects(before: SourceObjects, now: SourceObjects): SourceObjects {
  const kept = <T extends Named>(old: readonly T[], all: readonly T[]): T[] => {
    const names = new Set(all.map(objectName));
    return [...all, ...old.filter((object) => !names.has(objectName(object)))];
  };
  return {
    configMaps: kept(before.configMaps, now.configMaps),
    secrets: kept(before.secrets, now.secrets),
    runtimeClasses: kept(before.runtimeClasses, now.runtimeClasses),
  };
}

/** The first of each name, and what the others are called: `ConfigMap default/settings`. */
export function firstOfEachName(objects: SourceObjects): { unique: SourceObjects; doubles: readonly string[] } {
  const doubles: string[] = [];
  const firsts = <T extends Named>(kind: string, all: readonly T[]): T[] => {
    const seen = new Set<string>();
    return all.filter((object) => {
      const isFirst = !seen.has(objectName(object));
      seen.add(objectName(object));
      if (!isFirst) doubles.push(`${kind} ${objectName(object)}`);
      return isFirst;
    });
  };
  const unique = {
    configMaps: firsts('ConfigMap', objects.configMaps),
    secrets: firsts('Secret', objects.secrets),
    runtimeClasses: firsts('RuntimeClass', objects.runtimeClasses),
  };
  return { unique, doubles };
}

/** `default/settings`; only the name of what has no namespace. */
function objectName({ metadata: { namespace, name } }: Named): string {
  return namespace ? `${namespace}/${name}` : name;
}
