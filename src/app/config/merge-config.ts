import { deepFreeze } from '../../base/deep-freeze.ts';
import { withDefaultEvictions, withDefaults } from './apply-defaults.ts';
import { gateSettings, isGateOn } from './feature-gates.ts';
import type { KubeletConfiguration } from './generated/kubelet-configuration.ts';
import { isJsonObject, type JsonObject, type JsonValue, objectOf, withValueAt } from './json-value.ts';

/** What the configuration is made of; later ones win. Values are canonical, as `parseConfigFile` gives them. */
export interface ConfigLayers {
  /** Of `--config`. */
  readonly file: JsonObject;
  /** Of `--config-dir`, in lexical order. */
  readonly dropIns: readonly JsonObject[];
  readonly flags: readonly FieldFlag[];
}

/** A flag that sets a field. */
export interface FieldFlag {
  readonly path: readonly string[];
  readonly value: JsonValue;
}

/**
 * Defaults ← file ← drop-ins ← flags. Drop-ins are JSON merge patches on the completed file: maps are merged, lists
 * replaced, null brings the default back. A flag replaces its field as a whole, feature gates alone are merged.
 */
export function mergeConfig({ file, dropIns, flags }: ConfigLayers): KubeletConfiguration {
  const flagGates = flags.findLast(({ path }) => path[0] === 'featureGates')?.value;
  const complete = (config: JsonObject): JsonObject => {
    const gates = { ...gateSettings(flagGates), ...gateSettings(config['featureGates']) };
    return withDefaults(config, (gate) => isGateOn(gates, gate));
  };
  const fromFile = complete(withDefaultEvictions(mergePatch({}, file)));
  const fromDropIns = complete(dropIns.reduce(mergePatch, fromFile));
  const merged = flags.reduce(setByFlag, fromDropIns);
  // Every value was checked against the schema that this type is generated with, and the defaults are in.
  return deepFreeze(merged) as JsonObject & KubeletConfiguration;
}

/** RFC 7386. */
export function mergePatch(base: JsonObject, patch: JsonObject): JsonObject {
  const merged: Record<string, JsonValue> = { ...base };
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) delete merged[key];
    else merged[key] = isJsonObject(value) ? mergePatch(objectOf(merged[key]), value) : value;
  }
  return merged;
}

function setByFlag(config: JsonObject, { path, value }: FieldFlag): JsonObject {
  const isGates = path[0] === 'featureGates' && isJsonObject(value);
  return withValueAt(config, path, isGates ? { ...objectOf(config['featureGates']), ...value } : value);
}
