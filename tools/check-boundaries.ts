/**
 * Fails when an import points in the wrong direction, when folders import each other, or when a file uses a package that
 * belongs to another folder.
 *
 * Biome checks cycles of files and forbidden modules; this checks what it cannot: the direction between our own folders,
 * cycles of folders, which folder a package belongs to, `Math.random`, and the length of files.
 *
 *   scripts/node tools/check-boundaries.ts [ROOT]
 */
import { dirname, join, normalize } from 'node:path';
import { folderCycles } from './folder-cycles.ts';
import { importsOf, readSources, type Source } from './source-imports.ts';

const MAX_LINES = 300;
/** A table test is as long as its specification. */
const MAX_TEST_LINES = 600;

/** A folder may import itself and the folders listed here. */
const MAY_IMPORT: Record<string, readonly string[]> = {
  base: [],
  api: ['base'],
  host: ['base', 'api'],
  streams: ['base', 'host'],
  cri: ['base', 'api', 'host'],
  plugins: ['base', 'api', 'host', 'cri'],
  kubelet: ['base', 'api', 'host', 'streams', 'cri', 'plugins'],
  runtime: ['base', 'api', 'host', 'streams', 'cri'],
  observability: ['base', 'api', 'host', 'cri'],
  app: ['base', 'api', 'host', 'streams', 'cri', 'plugins', 'kubelet', 'runtime', 'observability'],
  cli: ['base', 'api', 'host', 'streams', 'cri', 'plugins', 'kubelet', 'runtime', 'observability', 'app'],
  '(root)': ['base', 'api', 'host', 'streams', 'cri', 'plugins', 'kubelet', 'runtime', 'observability', 'app', 'cli'],
};

/** Only these files may import the real Linux ports; all other code takes them as parameters. */
const WIRES_PORTS = ['app', 'cli', '(root)'];

/** Packages that belong to one folder (a prefix of the path below src). */
const PACKAGE_HOME: Record<string, readonly string[]> = {
  '@grpc/grpc-js': ['cri/', 'plugins/', 'observability/tracing/'],
  '@bufbuild/protobuf': ['cri/', 'plugins/generated/', 'runtime/nri/generated/', 'observability/tracing/generated/'],
  '@opentelemetry/api': ['observability/tracing/'],
  '@opentelemetry/sdk-trace': ['observability/tracing/'],
  koffi: ['host/linux/sys/'],
  ws: ['host/linux/'],
  'smol-toml': ['runtime/images/pull/'],
  yaml: ['api/', 'app/', 'cli/'],
  valibot: ['app/'],
  pino: ['observability/'],
  commander: ['cli/', 'app/'],
};

/** One line per error: `path:line: what is wrong`. */
export function boundaryErrors(sources: readonly Source[]): string[] {
  return sources.flatMap((source) => [...importErrors(source), ...usageErrors(source)]);
}

function* importErrors(source: Source): Generator<string> {
  const from = folderOf(source.path);
  const isTest = /\.test\.ts$/.test(source.path);
  for (const { specifier, line } of importsOf(source.text)) {
    const at = `${source.path}:${line}`;
    if (!specifier.startsWith('.')) {
      const home = PACKAGE_HOME[packageOf(specifier)];
      const below = source.path.replace(/^src\//, '');
      if (home && !isTest && !home.some((prefix) => below.startsWith(prefix))) {
        yield `${at}: ${packageOf(specifier)} is used only in src/${home.join(', src/')}`;
      }
      continue;
    }
    const target = normalize(join(dirname(source.path), specifier));
    const to = folderOf(target);
    if (!target.startsWith('src/')) {
      if (!isTest && target !== 'package.json') yield `${at}: src/ must not import ${target}`;
    } else if (to !== from && !(MAY_IMPORT[from] ?? []).includes(to)) {
      yield `${at}: src/${from} must not import src/${to} (${specifier})`;
    } else if (/\/fake\//.test(target) && !/\/fake\//.test(source.path) && !isTest) {
      yield `${at}: in-memory worlds are for tests (${specifier})`;
    } else if (target.startsWith('src/host/linux/') && from !== 'host' && !WIRES_PORTS.includes(from) && !isTest) {
      yield `${at}: take the port as a parameter instead of the real one (${specifier})`;
    }
  }
}

function* usageErrors({ path, text }: Source): Generator<string> {
  const lines = text.split('\n');
  const limit = path.endsWith('.test.ts') ? MAX_TEST_LINES : MAX_LINES;
  if (lines.length - 1 > limit) yield `${path}: ${lines.length - 1} lines; split it (limit ${limit})`;
  if (path.startsWith('src/host/linux/')) return;
  for (const [index, line] of lines.entries()) {
    if (/\bMath\.random\b/.test(line)) yield `${path}:${index + 1}: use the Random port (src/host/random.ts)`;
  }
}

function folderOf(path: string): string {
  const parts = path.split('/');
  return parts.length > 2 ? (parts[1] ?? '(root)') : '(root)';
}

function packageOf(specifier: string): string {
  return specifier.split('/', specifier.startsWith('@') ? 2 : 1).join('/');
}

if (import.meta.main) {
  const sources = readSources(process.argv[2] ?? '.');
  const errors = [...boundaryErrors(sources), ...folderCycles(sources)];
  for (const error of errors) console.error(error);
  console.log(`boundaries: ${sources.length} files, ${errors.length} errors`);
  process.exitCode = errors.length === 0 ? 0 : 1;
}
