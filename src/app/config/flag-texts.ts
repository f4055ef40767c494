import { FLAGS, type FlagKind, type FlagSpec } from './generated/flags.ts';
import { isJsonObject, type JsonValue } from './json-value.ts';

/** Defaults of kubelet's command line that a file, or its absence, changes: `/flagz` shows them as the command line has them. */
const COMMAND_LINE_DEFAULTS: Readonly<Record<string, string>> = {
  'anonymous-auth': 'true',
  'authentication-token-webhook': 'false',
  'authorization-mode': 'AlwaysAllow',
  'eviction-hard': '',
  'fail-cgroupv1': 'true',
  'read-only-port': '10255',
};

/** How a flag without a default prints; the others print nothing. */
const EMPTY_TEXTS: Partial<Record<FlagKind, string>> = {
  bool: 'false',
  duration: '0s',
  int32: '0',
  int64: '0',
  level: '0',
  strings: '[]',
  version: 'false',
};

/** Every flag as Go prints its value: what `/flagz` shows. Configuration files do not change it. */
export function flagTexts(given: ReadonlyMap<FlagSpec, JsonValue>): Readonly<Record<string, string>> {
  const texts = FLAGS.map((flag) => {
    const value = given.get(flag);
    return [flag.name, value === undefined ? defaultText(flag) : valueText(flag.kind, value)] as const;
  });
  return Object.fromEntries(texts);
}

function defaultText({ name, kind, default: preset }: FlagSpec): string {
  const own = COMMAND_LINE_DEFAULTS[name];
  if (own !== undefined) return own;
  if (preset === '') return EMPTY_TEXTS[kind] ?? '';
  return kind === 'strings' ? `[${preset}]` : preset;
}

function valueText(kind: FlagKind, value: JsonValue): string {
  switch (kind) {
    case 'strings':
      return `[${listOf(value).map(csvField).join(',')}]`;
    case 'map':
    case 'mapOfOne':
    case 'mapOfBool':
    case 'labels':
      return pairs(value, '=');
    case 'mapByLess':
      return pairs(value, '<');
    case 'multimap':
      return pairs(value, ':');
    case 'vmodule':
      return listOf(value)
        .map((each) => `${textAt(each, 'filePattern')}=${textAt(each, 'verbosity')}`)
        .join(',');
    case 'taints':
      return listOf(value).map(taintText).join(',');
    case 'reservedMemory':
      return listOf(value).map(reservedMemoryText).join(';');
    default:
      return String(value);
  }
}

function listOf(value: JsonValue): readonly JsonValue[] {
  return Array.isArray(value) ? value : [];
}

/** In the order of the keys; one pair for each value of a list. */
function pairs(value: JsonValue, separator: string): string {
  const entries = isJsonObject(value) ? Object.entries(value) : [];
  return entries
    .flatMap(([key, each]) => (Array.isArray(each) ? each : [each]).map((one) => `${key}${separator}${String(one)}`))
    .toSorted()
    .join(',');
}

function taintText(taint: JsonValue): string {
  const value = textAt(taint, 'value');
  return `${textAt(taint, 'key')}${value === '' ? '' : `=${value}`}:${textAt(taint, 'effect')}`;
}

function reservedMemoryText(each: JsonValue): string {
  const limits = isJsonObject(each) ? each['limits'] : undefined;
  return `${textAt(each, 'numaNode')}:${limits === undefined ? '' : pairs(limits, '=')}`;
}

function textAt(value: JsonValue, name: string): string {
  const found = isJsonObject(value) ? value[name] : undefined;
  return found === undefined || found === null ? '' : String(found);
}

/** As in CSV. */
function csvField(value: JsonValue): string {
  const text = String(value);
  return /[",\r\n]|^\s/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
