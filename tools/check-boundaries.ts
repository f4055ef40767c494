/**
 * Fails when an import points the wrong way, or when a file uses what only one folder may use.
 *
 * Biome checks cycles and forbidden modules; this checks what it cannot: the direction between our own folders, which
 * folder a package belongs to, `Math.random`, and the length of files.
 *
 *   scripts/node tools/check-boundaries.ts [ROOT]
 */
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, normalize, relative } from 'node:path';

const MAX_LINES = 300;
/** A table test is as long as its specification. */
const MAX_TEST_LINES = 600;

/** A folder may import itself and what stands here. */
const MAY_IMPORT: Record<string, readonly string[]> = {
  base: [],
  api: ['base'],
  host: ['base', 'api'],
  streams: ['base', 'host'],
  cri: ['base', 'api', 'host'],
  kubelet: ['base', 'api', 'host', 'streams', 'cri'],
  runtime: ['base', 'api', 'host', 'streams', 'cri'],
  observability: ['base', 'api', 'host', 'cri'],
  app: ['base', 'api', 'host', 'streams', 'cri', 'kubelet', 'runtime', 'observability'],
  cli: ['base', 'api', 'host', 'streams', 'cri', 'kubelet', 'runtime', 'observability', 'app'],
  '(root)': ['base', 'api', 'host', 'streams', 'cri', 'kubelet', 'runtime', 'observability', 'app', 'cli'],
};

/** The real Linux ports are chosen in one place; everybody else gets them handed in. */
const WIRES_PORTS = ['app', 'cli', '(root)'];

/** Packages that belong to one folder (a prefix of the path below src). */
const PACKAGE_HOME: Record<string, readonly string[]> = {
  '@grpc/grpc-js': ['cri/'],
  '@bufbuild/protobuf': ['cri/', 'runtime/nri/generated/'],
  koffi: ['host/linux/'],
  ws: ['host/linux/'],
  'smol-toml': ['runtime/images/pull/'],
  yaml: ['api/', 'app/', 'cli/'],
  valibot: ['app/'],
  pino: ['observability/'],
  commander: ['cli/', 'app/'],
};

export interface Source {
  /** Below the root, with forward slashes: `src/kubelet/sync/x.ts`. */
  readonly path: string;
  readonly text: string;
}

/** One line per fault: `path:line: what is wrong`. */
export function boundaryFaults(sources: readonly Source[]): string[] {
  return sources.flatMap((source) => [...importFaults(source), ...useFaults(source)]);
}

function* importFaults(source: Source): Generator<string> {
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

function* useFaults({ path, text }: Source): Generator<string> {
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

function* importsOf(text: string): Generator<{ specifier: string; line: number }> {
  const pattern =
    /^\s*(?:import|export)\b[^'";]*?from\s*'([^']+)'|^\s*import\s*'([^']+)'|\bimport\(\s*'([^']+)'\s*\)/gms;
  for (const match of text.matchAll(pattern)) {
    const specifier = match[1] ?? match[2] ?? match[3];
    if (specifier === undefined) continue;
    const end = (match.index ?? 0) + match[0].length;
    yield { specifier, line: text.slice(0, end).split('\n').length };
  }
}

function readSources(root: string): Source[] {
  return readdirSync(join(root, 'src'), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith('.ts'))
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((path) => !path.includes('/generated/'))
    .map((path) => ({ path: relative(root, path), text: readFileSync(path, 'utf8') }));
}

if (import.meta.main) {
  const sources = readSources(process.argv[2] ?? '.');
  const faults = boundaryFaults(sources);
  for (const fault of faults) console.error(fault);
  console.log(`boundaries: ${sources.length} files, ${faults.length} faults`);
  process.exitCode = faults.length === 0 ? 0 : 1;
}
