import { parseGoJson } from '../../base/go/parse-go-json.ts';

/** The content of a checkpoint file: any JSON. */
export interface Checkpoint {
  readonly value: unknown;
}

/** The fields of a checkpoint. Null maps are `undefined`: Go keeps them apart from empty ones. */
export interface CheckpointFields {
  readonly policy: string;
  readonly shared: string;
  readonly entries: ReadonlyMap<string, string | ReadonlyMap<string, string> | undefined> | undefined;
  readonly checksum: number;
}

/** Reads JSON as Go does. Throws Go's message. */
export function readCheckpoint(text: string): Checkpoint {
  return { value: parseGoJson(text) };
}

/** Throws Go's message if a value does not have the type that this version of the checkpoint has. */
export function checkType({ value: whole }: Checkpoint, type: string, entriesType: string): CheckpointFields {
  const fields = whole ?? {}; // Go leaves the values unchanged for null
  if (!isRecord(fields))
    throw new Error(`json: cannot unmarshal ${kindOf(fields)} into Go value of type state.${type}`);
  // Go compares the names of fields without regard to case.
  const values = new Map(Object.entries(fields).map(([name, value]) => [name.toLowerCase(), value]));
  const fail = (value: unknown, field: string, wanted: string): never => {
    throw new Error(`json: cannot unmarshal ${kindOf(value)} into Go struct field ${type}.${field} of type ${wanted}`);
  };
  const text = (field: string): string => {
    const value = values.get(field.toLowerCase()) ?? '';
    return typeof value === 'string' ? value : fail(value, field, 'string');
  };
  const textOf = (value: unknown): string => {
    return typeof value === 'string' ? value : value === null ? '' : fail(value, 'entries', 'string');
  };
  const mapOf = <T>(
    value: unknown,
    wanted: string,
    read: (value: unknown) => T,
  ): ReadonlyMap<string, T> | undefined => {
    if (value === null) return undefined;
    if (!isRecord(value)) return fail(value, 'entries', wanted);
    return new Map(Object.entries(value).map(([key, inner]) => [key, read(inner)]));
  };
  const isNested = entriesType === 'map[string]map[string]string';
  const readEntry = (value: unknown) => (isNested ? mapOf(value, 'map[string]string', textOf) : textOf(value));
  const checksum = values.get('checksum') ?? 0;
  return {
    policy: text('policyName'),
    shared: text('defaultCpuSet'),
    entries: values.has('entries') ? mapOf(values.get('entries'), entriesType, readEntry) : new Map(),
    checksum: isUnsigned(checksum) ? checksum : fail(checksum, 'checksum', 'checksum.Checksum'),
  };
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isUnsigned(value: unknown): value is number {
  return typeof value === 'number' && Number.isInteger(value) && value >= 0;
}

function kindOf(value: unknown): string {
  if (Array.isArray(value)) return 'array';
  if (typeof value === 'boolean') return 'bool';
  if (typeof value !== 'number') return typeof value;
  return isUnsigned(value) ? 'number' : `number ${value}`;
}
