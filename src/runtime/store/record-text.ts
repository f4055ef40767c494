/** An object with a single key that starts with this encodes a value that JSON does not have. */
const MARK = '$';

/** Key of `state` in the files: records of older versions have it, and older versions read it after a downgrade. */
const STATE_KEY = 'life';

/** JSON of a record, with bigint as `{"$bigint":"5"}` and bytes as `{"$bytes":"aGk="}`. */
export function recordToText(record: unknown): string {
  return `${JSON.stringify(toJson(renameKey(record, 'state', STATE_KEY)))}\n`;
}

/** Decodes the text of `recordToText`; `undefined` fields are absent. Throws what `JSON.parse` throws. */
export function recordFromText(text: string): unknown {
  return renameKey(fromJson(JSON.parse(text)), STATE_KEY, 'state');
}

function renameKey(record: unknown, from: string, to: string): unknown {
  if (typeof record !== 'object' || record === null || !(from in record)) return record;
  return Object.fromEntries(Object.entries(record).map(([key, member]) => [key === from ? to : key, member]));
}

function toJson(value: unknown): unknown {
  if (typeof value === 'bigint') return { $bigint: value.toString() };
  if (value instanceof Uint8Array) return { $bytes: Buffer.from(value).toString('base64') };
  if (Array.isArray(value)) return value.map(toJson);
  if (typeof value !== 'object' || value === null) return value;
  const members = Object.entries(value).map(([key, member]) => [key, toJson(member)] as const);
  const object = Object.fromEntries(members);
  // Pod labels may look like a mark.
  return singleMark(object) === undefined ? object : { $object: object };
}

function fromJson(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(fromJson);
  if (typeof value !== 'object' || value === null) return value;
  const mark = singleMark(value);
  if (mark === undefined) return membersFromJson(value);
  const [name, content] = mark;
  if (name === '$bigint' && typeof content === 'string') return BigInt(content);
  if (name === '$bytes' && typeof content === 'string') return new Uint8Array(Buffer.from(content, 'base64'));
  if (name === '$object' && typeof content === 'object' && content !== null) return membersFromJson(content);
  throw new SyntaxError(`unknown mark ${name} in record`);
}

function membersFromJson(object: object): Record<string, unknown> {
  return Object.fromEntries(Object.entries(object).map(([key, member]) => [key, fromJson(member)]));
}

function singleMark(object: object): readonly [name: string, content: unknown] | undefined {
  const [first, ...others] = Object.entries(object);
  return first?.[0].startsWith(MARK) && others.length === 0 ? first : undefined;
}
