/**
 * TypeScript for the tables of `protocols/`: the .proto files that they describe, and the messages, codecs and service
 * definitions that ts-proto generates from them. Nothing is downloaded: buf and its plugin come from node_modules.
 */
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Generated } from './generate.ts';
import { type ProtoTable, parseProtoTable } from './proto-table.ts';
import { protoText } from './proto-text.ts';

export interface ProtoFile {
  readonly name: string;
  /** Tables of one package, merged. */
  readonly tables: readonly string[];
  readonly imports?: readonly string[];
  /** Only these messages; absent: all. */
  readonly messages?: readonly string[];
}

/** Enums and 64-bit numbers in types that TypeScript can erase and represent; no unused methods. */
const TS_PROTO_OPTIONS = [
  'enumsAsLiterals=true',
  'unrecognizedEnum=false',
  'forceLong=bigint',
  'importSuffix=.ts',
  'esModuleInterop=true',
  'useExactTypes=false',
  'outputServices=generic-definitions',
  'outputJsonMethods=false',
  'outputPartialMethods=true',
];

/** The same tables and node_modules give the same text. */
export function generateProto(root: string, folder: string, protoFiles: readonly ProtoFile[]): Generated {
  const inFolder = ({ name, text }: { name: string; text: string }): [string, string] => [`${folder}/${name}`, text];
  const protos = protoFiles.map((file) => ({ name: `${file.name}.proto`, text: protoFileText(root, file) }));
  const work = mkdtempSync(join(tmpdir(), 'generate-proto-'));
  try {
    for (const { name, text } of protos) {
      mkdirSync(join(work, 'proto'), { recursive: true });
      writeFileSync(join(work, 'proto', name), text);
    }
    runBuf(root, work);
    return {
      folders: [folder],
      files: new Map([...protos.map(inFolder), ...generatedFiles(join(work, 'out')).map(inFolder)]),
    };
  } finally {
    rmSync(work, { recursive: true });
  }
}

function protoFileText(root: string, file: ProtoFile): string {
  const paths = file.tables.map((table) => `protocols/${table}.tsv`);
  const tables = paths.map((path) => parseProtoTable(readFileSync(join(root, path), 'utf8')));
  const whole = joinTables(tables);
  const table = file.messages === undefined ? whole : onlyMessages(whole, file.messages);
  return protoText(table, { source: paths.join(', '), imports: file.imports ?? [] });
}

function joinTables(tables: readonly ProtoTable[]): ProtoTable {
  const packages = new Set(tables.map((table) => table.package));
  const [name] = packages;
  if (name === undefined || packages.size !== 1) throw new Error(`not one package: ${[...packages].join(', ')}`);
  return {
    package: name,
    services: new Map(tables.flatMap((table) => [...table.services])),
    messages: new Map(tables.flatMap((table) => [...table.messages])),
    enums: new Map(tables.flatMap((table) => [...table.enums])),
  };
}

function onlyMessages(table: ProtoTable, names: readonly string[]): ProtoTable {
  const missing = names.filter((name) => !table.messages.has(name));
  if (missing.length > 0) throw new Error(`no such message in ${table.package}: ${missing.join(', ')}`);
  return { ...table, messages: new Map([...table.messages].filter(([name]) => names.includes(name))) };
}

function runBuf(root: string, work: string): void {
  const plugin = {
    local: [process.execPath, join(root, 'node_modules/ts-proto/protoc-gen-ts_proto')],
    out: 'out',
    opt: TS_PROTO_OPTIONS,
    include_imports: true,
    include_wkt: true,
  };
  const template = JSON.stringify({ version: 'v2', plugins: [plugin] });
  const buf = join(root, 'node_modules/@bufbuild/buf/bin/buf');
  const env = { ...process.env, BUF_CACHE_DIR: join(work, 'cache') };
  execFileSync(process.execPath, [buf, 'generate', 'proto', '--template', template], { cwd: work, env, stdio: 'pipe' });
}

function generatedFiles(folder: string): { name: string; text: string }[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .sort()
    .map((path) => ({ name: path.slice(folder.length + 1), text: readFileSync(path, 'utf8') }));
}
