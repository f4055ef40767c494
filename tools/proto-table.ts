/**
 * The field tables of `protocols/`: one protobuf file as tab-separated lines.
 *
 *   package  NAME
 *   rpc      SERVICE  METHOD  REQUEST  RESPONSE  unary | server-stream
 *   message  NAME                     a dotted name is nested
 *   field    MESSAGE  NUMBER  NAME  TYPE  single | repeated | oneof NAME [deprecated]
 *   enum     NAME
 *   value    ENUM  NUMBER  NAME
 */
export interface ProtoTable {
  readonly package: string;
  readonly services: ReadonlyMap<string, readonly Rpc[]>;
  /** In the order of the table; dotted names are nested. */
  readonly messages: ReadonlyMap<string, readonly Field[]>;
  readonly enums: ReadonlyMap<string, readonly EnumValue[]>;
}

export interface Rpc {
  readonly name: string;
  readonly request: string;
  readonly response: string;
  readonly streams: boolean;
}

export interface Field {
  readonly number: number;
  readonly name: string;
  readonly type: string;
  readonly repeated: boolean;
  readonly oneof: string | undefined;
  readonly deprecated: boolean;
}

export interface EnumValue {
  readonly number: number;
  readonly name: string;
}

/** Throws with the number of an invalid line. */
export function parseProtoTable(text: string): ProtoTable {
  let name = '';
  const services = new Map<string, Rpc[]>();
  const messages = new Map<string, Field[]>();
  const enums = new Map<string, EnumValue[]>();

  for (const [index, line] of text.split('\n').entries()) {
    if (line === '') continue;
    const [kind, owner = '', ...cells] = line.split('\t');
    if (kind === 'package') name = owner;
    else if (kind === 'rpc') entry(services, owner).push(parseRpc(cells));
    else if (kind === 'message') entry(messages, owner);
    else if (kind === 'field') entry(messages, owner).push(parseField(cells));
    else if (kind === 'enum') entry(enums, owner);
    else if (kind === 'value') entry(enums, owner).push(parseValue(cells));
    else throw new Error(`line ${index + 1}: unknown kind ${JSON.stringify(kind)}`);
  }
  if (name === '') throw new Error('no package line');
  return { package: name, services, messages, enums };
}

function parseRpc([name = '', request = '', response = '', mode = '']: readonly string[]): Rpc {
  if (mode !== 'unary' && mode !== 'server-stream')
    throw new Error(`rpc ${name}: unknown mode ${JSON.stringify(mode)}`);
  return { name, request, response, streams: mode === 'server-stream' };
}

function parseField([number = '', name = '', type = '', rest = '']: readonly string[]): Field {
  const words = rest.split(' ');
  return {
    number: Number(number),
    name,
    type,
    repeated: words[0] === 'repeated',
    oneof: words[0] === 'oneof' ? words[1] : undefined,
    deprecated: words.includes('deprecated'),
  };
}

function parseValue([number = '', name = '']: readonly string[]): EnumValue {
  return { number: Number(number), name };
}

function entry<T>(map: Map<string, T[]>, key: string): T[] {
  const list = map.get(key) ?? [];
  map.set(key, list);
  return list;
}
