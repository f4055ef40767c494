import { readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';

/** A source file below `src`, as the checks of this folder read it. */
export interface Source {
  /** Below the root, with forward slashes: `src/kubelet/sync/x.ts`. */
  readonly path: string;
  readonly text: string;
}

export interface Import {
  readonly specifier: string;
  readonly line: number;
}

const IMPORT = /^\s*(?:import|export)\b[^'";]*?from\s*'([^']+)'|^\s*import\s*'([^']+)'|\bimport\(\s*'([^']+)'\s*\)/gms;

/** Every import and re-export of a file, type-only and dynamic ones included. */
export function* importsOf(text: string): Generator<Import> {
  for (const match of text.matchAll(IMPORT)) {
    const specifier = match[1] ?? match[2] ?? match[3];
    if (specifier === undefined) continue;
    const end = match.index + match[0].length;
    yield { specifier, line: text.slice(0, end).split('\n').length };
  }
}

/** Test files and their fixtures: they may reach across folders and use in-memory implementations. */
export function isTestFile(path: string): boolean {
  return /\.(test|fixture)\.ts$|\/(fake|testing)\//.test(path);
}

/** Every source file below `src`, without generated ones. */
export function readSources(root: string): Source[] {
  return readdirSync(join(root, 'src'), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith('.ts'))
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((path) => !path.includes('/generated/'))
    .map((path) => ({ path: relative(root, path), text: readFileSync(path, 'utf8') }));
}
