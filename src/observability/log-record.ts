/** Formats values for the log. Redacts secrets and never throws: a log line must not end the program. */

/** Names of fields whose values are always redacted. */
const SECRET_NAMES = /token|password|passwd|secret|authorization|credential|private_?key|^auth$/i;

/** Deeper values and longer lists are cut. */
const MAX_DEPTH = 4;
const MAX_ITEMS = 32;
/** The names and paths of images, pods and registries may have any length; the stack of an error has at most 4,000. */
const MAX_CHARACTERS = 8_192;

const REDACTED = '[redacted]';

/** The fields as they are logged, with secret values redacted. */
export function loggedFields(fields: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return loggedRecord(fields, 0);
}

function loggedRecord(fields: object, depth: number): Record<string, unknown> {
  const shown = Object.entries(fields)
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => [cutText(name), SECRET_NAMES.test(name) ? REDACTED : loggedValue(value, depth + 1)]);
  return Object.fromEntries(shown);
}

function loggedValue(value: unknown, depth: number): unknown {
  if (typeof value === 'bigint') return value.toString();
  if (value instanceof Error) return cutText(errorChainText(value));
  if (typeof value === 'string') return cutText(value);
  if (typeof value !== 'object' || value === null) return value;
  if (value instanceof Uint8Array) return `${value.length} bytes`;
  if (depth > MAX_DEPTH) return '…';
  if (value instanceof Map) return loggedRecord(Object.fromEntries(value), depth);
  const isList = Array.isArray(value) || value instanceof Set;
  return isList
    ? [...value].slice(0, MAX_ITEMS).map((item) => loggedValue(item, depth + 1))
    : loggedRecord(value, depth);
}

/** The start of a text, with the number of characters that are left out. */
function cutText(text: string): string {
  if (text.length <= MAX_CHARACTERS) return text;
  return `${text.slice(0, MAX_CHARACTERS)}… (${text.length - MAX_CHARACTERS} more characters)`;
}

/** An error with its causes, outermost first; a cause whose text the outer error contains is not repeated. */
export function errorChainText(error: Error): string {
  const own = error instanceof AggregateError ? [error.message, ...error.errors.map(errorPartText)] : [error.message];
  const text = own.filter((part) => part !== '').join('; ') || error.name;
  if (error.cause === undefined) return text;
  const cause = errorPartText(error.cause);
  return text.includes(cause) ? text : `${text}: ${cause}`;
}

function errorPartText(part: unknown): string {
  return part instanceof Error ? errorChainText(part) : String(part);
}
