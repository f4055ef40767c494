import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Field, type ProtoTable, parseProtoTable } from '../../../tools/proto-table.ts';

const TABLE = join(import.meta.dirname, '../../../protocols/cri-runtime-v1.tsv');
const MAX_DEPTH = 4;

/** Creates messages with a non-default value in every field, to find codecs that drop one. */
export function messageFiller(): (message: string) => object {
  const table = parseProtoTable(readFileSync(TABLE, 'utf8'));
  return (message) => filled(table, message, 1);
}

export function requestAndResponse(): ReadonlyMap<string, { request: string; response: string }> {
  const table = parseProtoTable(readFileSync(TABLE, 'utf8'));
  return new Map([...table.services.values()].flat().map((rpc) => [rpc.name, rpc]));
}

function filled(table: ProtoTable, message: string, depth: number): object {
  const fields = table.messages.get(message);
  if (!fields) throw new Error(`no message ${message}`);
  return Object.fromEntries(fields.map((field) => [camelCase(field.name), fieldValue(table, message, field, depth)]));
}

function fieldValue(table: ProtoTable, message: string, field: Field, depth: number): unknown {
  if (field.type.startsWith('map<')) return { [`${field.name}-key`]: 'value', '': '' };
  const one = scalarValue(field) ?? enumValue(table, message, field) ?? nested(table, field, depth);
  if (!field.repeated) return one;
  return one === undefined ? [] : [one, one];
}

function scalarValue({ type, name, number }: Field): unknown {
  switch (type) {
    case 'string':
      return `${name} ü`;
    case 'bytes':
      return new Uint8Array([0, 255, number]);
    case 'bool':
      return true;
    case 'int32':
      return -number;
    case 'uint32':
      return 2 ** 32 - number;
    case 'int64':
      return 2n ** 62n + BigInt(number);
    case 'uint64':
      return 2n ** 63n + BigInt(number);
    case 'double':
      return number + 0.25;
    default:
      return undefined;
  }
}

function enumValue(table: ProtoTable, message: string, { type }: Field): number | undefined {
  return (table.enums.get(type) ?? table.enums.get(`${message}.${type}`))?.at(-1)?.number;
}

function nested(table: ProtoTable, { type }: Field, depth: number): object | undefined {
  return depth === MAX_DEPTH ? undefined : filled(table, type, depth + 1);
}

/** ts-proto's names: `pod_sandbox_id` becomes `podSandboxId`; capitals are unchanged. */
function camelCase(name: string): string {
  return name.replace(/_(.)/g, (_, letter: string) => letter.toUpperCase());
}
