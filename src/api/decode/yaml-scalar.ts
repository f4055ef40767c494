/** What an unquoted YAML scalar means to Kubernetes, which still reads YAML 1.1: `on` is true, `0644` is 420. */

export type YamlValue = string | number | bigint | boolean | null;

const WORDS: ReadonlyMap<string, boolean | null> = new Map<string, boolean | null>([
  ...['y', 'Y', 'yes', 'Yes', 'YES', 'true', 'True', 'TRUE', 'on', 'On', 'ON'].map((word) => [word, true] as const),
  ...['n', 'N', 'no', 'No', 'NO', 'false', 'False', 'FALSE', 'off', 'Off', 'OFF'].map((word) => [word, false] as const),
  ...['', '~', 'null', 'Null', 'NULL'].map((word) => [word, null] as const),
]);

const INTEGER = /^([-+]?)(0x[0-9a-fA-F]+|0b[01]+|0o?[0-7]+|0|[1-9][0-9]*)$/;
const FLOAT = /^[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?$/;

/** Integers that a `number` cannot hold exactly come as `bigint`. */
export function resolvePlainScalar(source: string): YamlValue {
  const word = WORDS.get(source);
  if (word !== undefined) return word;
  const digits = source.replaceAll('_', '');
  const integer = /^[-+0-9]/.test(source) ? INTEGER.exec(digits) : null;
  if (integer) return exactInteger(integer[1] ?? '', integer[2] ?? '');
  return /^[-+.0-9]/.test(source) && FLOAT.test(digits) ? Number(digits) : source;
}

function exactInteger(sign: string, digits: string): number | bigint {
  const octal = /^0o?([0-7]+)$/.exec(digits)?.[1];
  const size = BigInt(octal === undefined ? digits : `0o${octal}`);
  const value = sign === '-' ? -size : size;
  const asNumber = Number(value);
  return Number.isSafeInteger(asNumber) ? asNumber : value;
}
