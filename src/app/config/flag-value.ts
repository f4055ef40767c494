import { formatDuration, parseDuration } from '../../base/duration.ts';
import { errorText } from '../../base/error-text.ts';
import { parseGoBool, parseGoInt, parseGoLevel } from '../../base/go/go-numbers.ts';
import { parseQuantity } from '../../base/quantity.ts';
import type { FlagKind } from './generated/flags.ts';
import { ipFamily } from './ip-address.ts';
import { type JsonValue, objectOf } from './json-value.ts';
import { parseReservedMemory, parseTaints } from './node-flag-values.ts';

/**
 * The value of a flag as KubeletConfiguration would hold it. Lists and maps go on from what the same flag was given
 * before; all others replace it. Throws an `Error` with Go's message.
 */
export function parseFlagValue(kind: FlagKind, text: string, before: JsonValue | undefined): JsonValue {
  switch (kind) {
    case 'string':
      return text;
    case 'bool':
      return parseGoBool(text);
    case 'int32':
      return parseGoInt(text, 32);
    case 'int64':
      return parseGoInt(text, 64);
    case 'level':
      return parseGoLevel(text);
    case 'duration':
      return formatDuration(parseDuration(text));
    case 'quantity':
      return parseQuantity(text).toString();
    case 'ip':
      return parseIp(text);
    case 'version':
      return text === 'raw' ? 'raw' : parseGoBool(text);
    case 'strings':
      return [...listOf(before), ...splitCommas(text)];
    case 'map':
      return { ...objectOf(before), ...pairsOf(text.split(','), '=') };
    case 'mapOfOne':
      return { ...objectOf(before), ...pairsOf([text], '=') };
    case 'mapByLess':
      return { ...objectOf(before), ...pairsOf(text.split(','), '<') };
    case 'mapOfBool':
      return { ...objectOf(before), ...boolPairsOf(text) };
    case 'labels':
      return { ...objectOf(before), ...labelsOf(text) };
    case 'multimap':
      return withHeaders(before, text);
    case 'taints':
      return parseTaints(text);
    case 'reservedMemory':
      return [...listOf(before), ...parseReservedMemory(text)];
    case 'vmodule':
      return [...listOf(before), ...parseVmodule(text)];
  }
}

function parseIp(text: string): string {
  if (text !== '' && ipFamily(text) === undefined) throw new Error(`${JSON.stringify(text)} is not a valid IP address`);
  return text;
}

/** Commas separate, but not those between double quotes. */
function splitCommas(text: string): readonly string[] {
  if (text === '') return [];
  if (!/^("([^"]|"")*"|[^",]*)(,("([^"]|"")*"|[^",]*))*$/.test(text)) {
    throw new Error('parse error on line 1: bare " in non-quoted field');
  }
  const fields = text.matchAll(/(?:^|,)(?:"((?:[^"]|"")*)"|([^",]*))/g);
  return [...fields].map(([, quoted, plain]) => quoted?.replaceAll('""', '"') ?? plain ?? '');
}

function pairsOf(parts: readonly string[], separator: string): Readonly<Record<string, string>> {
  const pairs = parts
    .filter((part) => part !== '')
    .map((part) => {
      const at = part.indexOf(separator);
      if (at < 0) throw new Error(`malformed pair, expect string${separator}string`);
      return [part.slice(0, at).trim(), part.slice(at + 1).trim()] as const;
    });
  return Object.fromEntries(pairs);
}

function boolPairsOf(text: string): Readonly<Record<string, boolean>> {
  const parts = text.split(',').filter((part) => part !== '');
  return Object.fromEntries(
    parts.map((part) => {
      const at = part.indexOf('=');
      if (at < 0) throw new Error('malformed pair, expect string=bool');
      const [name, value] = [part.slice(0, at).trim(), part.slice(at + 1).trim()];
      try {
        return [name, parseGoBool(value)];
      } catch (error) {
        throw new Error(`invalid value of ${name}: ${value}, err: ${errorText(error)}`);
      }
    }),
  );
}

/** A label without a value is one with an empty value. */
function labelsOf(text: string): Readonly<Record<string, string>> {
  const parts = text.split(',').filter((part) => part !== '');
  return Object.fromEntries(
    parts.map((part) => {
      const at = part.indexOf('=');
      return at < 0 ? [part.trim(), ''] : [part.slice(0, at).trim(), part.slice(at + 1).trim()];
    }),
  );
}

function withHeaders(before: JsonValue | undefined, text: string): JsonValue {
  const headers: Record<string, JsonValue> = { ...objectOf(before) };
  for (const part of text.split(',').filter((each) => each !== '')) {
    const at = part.indexOf(':');
    if (at < 0) throw new Error('malformed pair, expect string:string');
    const name = part.slice(0, at).trim();
    headers[name] = [...listOf(headers[name]), part.slice(at + 1).trim()];
  }
  return headers;
}

function parseVmodule(text: string): readonly JsonValue[] {
  const parts = text.split(',').filter((part) => part !== '');
  return parts.map((part) => {
    const [filePattern = '', level = '', ...rest] = part.split('=');
    if (filePattern === '' || level === '' || rest.length > 0) {
      throw new Error(`${JSON.stringify(part)} does not have the pattern=N format`);
    }
    try {
      return { filePattern, verbosity: parseGoLevel(level) };
    } catch (error) {
      throw new Error(`parsing verbosity in ${JSON.stringify(part)}: ${errorText(error)}`);
    }
  });
}

function listOf(value: JsonValue | undefined): readonly JsonValue[] {
  return Array.isArray(value) ? value : [];
}
