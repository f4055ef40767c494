import type { EnumValue, Field, ProtoTable, Rpc } from './proto-table.ts';

export interface ProtoTextOptions {
  /** The origin of the table, for the first line. */
  readonly source: string;
  /** The .proto files that this one imports. */
  readonly imports?: readonly string[];
}

/** The .proto file (proto3) that a table describes. */
export function protoText(table: ProtoTable, { source, imports = [] }: ProtoTextOptions): string {
  const head = [
    `// Written from ${source} by tools/generate-proto.ts.`,
    'syntax = "proto3";',
    `package ${table.package};`,
  ];
  const blocks = [
    head,
    imports.map((path) => `import "${path}";`),
    ...[...table.services].map(([name, rpcs]) => serviceLines(name, rpcs)),
    ...[...table.messages.keys()].filter(isTopLevel).map((name) => messageLines(table, name)),
    ...[...table.enums].filter(([name]) => isTopLevel(name)).map(([name, values]) => enumLines(name, values)),
  ];
  return `${blocks
    .filter((lines) => lines.length > 0)
    .map((lines) => lines.join('\n'))
    .join('\n\n')}\n`;
}

function serviceLines(name: string, rpcs: readonly Rpc[]): string[] {
  const lines = rpcs.map(
    (rpc) => `rpc ${rpc.name}(${rpc.request}) returns (${rpc.streams ? 'stream ' : ''}${rpc.response});`,
  );
  return [`service ${name} {`, ...indented(lines), '}'];
}

function messageLines(table: ProtoTable, name: string): string[] {
  const fields = table.messages.get(name) ?? [];
  const nested = [
    ...[...table.enums]
      .filter(([inner]) => isDirectlyInside(inner, name))
      .map(([inner, values]) => enumLines(inner, values)),
    ...[...table.messages.keys()]
      .filter((inner) => isDirectlyInside(inner, name))
      .map((inner) => messageLines(table, inner)),
  ];
  return [`message ${lastPart(name)} {`, ...indented([...nested.flat(), ...fieldLines(fields)]), '}'];
}

/** A oneof takes the position of its first member in the table. */
function fieldLines(fields: readonly Field[]): string[] {
  const oneofs = new Set<string>();
  return fields.flatMap((field) => {
    if (field.oneof === undefined) return [fieldLine(field)];
    if (oneofs.has(field.oneof)) return [];
    oneofs.add(field.oneof);
    const members = fields.filter((other) => other.oneof === field.oneof).map(fieldLine);
    return [`oneof ${field.oneof} {`, ...indented(members), '}'];
  });
}

function fieldLine({ number, name, type, repeated, deprecated }: Field): string {
  const wireType = type.replace(/^map<(\w+),(.+)>$/, 'map<$1, $2>');
  return `${repeated ? 'repeated ' : ''}${wireType} ${name} = ${number}${deprecated ? ' [deprecated = true]' : ''};`;
}

function enumLines(name: string, values: readonly EnumValue[]): string[] {
  return [`enum ${lastPart(name)} {`, ...indented(values.map((value) => `${value.name} = ${value.number};`)), '}'];
}

function indented(lines: readonly string[]): string[] {
  return lines.map((line) => `  ${line}`);
}

function isTopLevel(name: string): boolean {
  return !name.includes('.');
}

function isDirectlyInside(inner: string, outer: string): boolean {
  return inner.startsWith(`${outer}.`) && isTopLevel(inner.slice(outer.length + 1));
}

function lastPart(name: string): string {
  return name.slice(name.lastIndexOf('.') + 1);
}
