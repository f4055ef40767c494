import type { FieldSchema } from './field-schema.ts';
import { GATED_DEFAULTS, KUBELET_DEFAULTS } from './generated/defaults.ts';
import { STRUCTS, type StructName } from './generated/kubelet-configuration-schema.ts';
import { isJsonObject, type JsonObject, type JsonValue } from './json-value.ts';

const ZERO_DURATION = '0s';

const DEFAULTS: JsonObject = { ...KUBELET_DEFAULTS };

/**
 * Fills in unset fields. A zero that Go cannot distinguish from an unset field counts as unset.
 * Doing it twice changes nothing more.
 */
export function withDefaults(config: JsonObject, isGateOn: (gate: string) => boolean): JsonObject {
  const filled = fillStruct(config, dependentDefaults(config), 'KubeletConfiguration', [], isGateOn);
  const limit = filled['podPidsLimit'];
  return typeof limit === 'number' && limit < 0 ? { ...filled, podPidsLimit: -1 } : filled;
}

/** Hard eviction thresholds are all or nothing in a file, unless it asks to keep the defaults of the rest. */
export function withDefaultEvictions(config: JsonObject): JsonObject {
  const own = config['evictionHard'];
  if (config['mergeDefaultEvictionSettings'] !== true || !isJsonObject(own)) return config;
  return { ...config, evictionHard: { ...KUBELET_DEFAULTS.evictionHard, ...own } };
}

/** Two defaults follow another field when that one is set. */
function dependentDefaults(config: JsonObject): JsonObject {
  const parallel = config['maxParallelImagePulls'];
  const update = config['nodeStatusUpdateFrequency'];
  return {
    ...DEFAULTS,
    ...(typeof parallel === 'number' && parallel >= 2 ? { serializeImagePulls: false } : {}),
    ...(typeof update === 'string' && update !== ZERO_DURATION ? { nodeStatusReportFrequency: update } : {}),
  };
}

function fillStruct(
  config: JsonObject,
  defaults: JsonObject,
  struct: StructName,
  above: readonly string[],
  isGateOn: (gate: string) => boolean,
): JsonObject {
  const filled: Record<string, JsonValue> = {};
  for (const [name, field] of STRUCTS[struct]) {
    const path = [...above, name];
    const own = config[name];
    const gate = GATED_DEFAULTS[path.join('.')];
    const fallback = gate === undefined || isGateOn(gate) ? defaults[name] : undefined;
    const value = isUnset(own, field) ? fallback : own;
    if (value === undefined) continue;
    const isStruct = field.type.kind === 'struct' && isJsonObject(fallback);
    filled[name] = isStruct
      ? fillStruct(isJsonObject(own) ? own : {}, fallback, field.type.name, path, isGateOn)
      : value;
  }
  return filled;
}

function isUnset(value: JsonValue | undefined, field: FieldSchema): value is undefined | null {
  if (value === undefined || value === null) return true;
  return !field.explicitZero && value === zeroOf(field.type.kind);
}

/** Lists and maps have none: an empty one says something. */
function zeroOf(kind: FieldSchema['type']['kind']): JsonValue | undefined {
  switch (kind) {
    case 'bool':
      return false;
    case 'int32':
    case 'int64':
    case 'uint32':
    case 'float64':
      return 0;
    case 'duration':
    case 'timeOrDuration':
      return ZERO_DURATION;
    case 'string':
      return '';
    case 'quantity':
    case 'list':
    case 'map':
    case 'struct':
      return undefined;
  }
}
