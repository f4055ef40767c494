import { dirname, join, normalize } from 'node:path';
import { importsOf, isTestFile, type Source } from './source-imports.ts';

/** Folder → the folders that its files import, each with one import as evidence. */
type FolderGraph = ReadonlyMap<string, ReadonlyMap<string, string>>;

/**
 * One line for each import that closes a cycle among folders: a folder is a unit that can be read, tested and moved
 * alone only if the imports between folders are acyclic. Parent and child folders count like any others. Test files do not.
 */
export function folderCycles(sources: readonly Source[]): string[] {
  const graph = folderGraph(sources);
  const done = new Set<string>();
  const errors: string[] = [];
  const visit = (folder: string, trail: readonly string[]): void => {
    const path = [...trail, folder];
    for (const [imported, evidence] of graph.get(folder) ?? []) {
      const start = path.indexOf(imported);
      if (start >= 0)
        errors.push(`${evidence} closes a cycle of folders: ${[...path.slice(start), imported].join(' → ')}`);
      else if (!done.has(imported)) visit(imported, path);
    }
    done.add(folder);
  };
  for (const folder of graph.keys()) if (!done.has(folder)) visit(folder, []);
  return errors;
}

function folderGraph(sources: readonly Source[]): FolderGraph {
  const graph = new Map<string, Map<string, string>>();
  for (const { path, text } of sources) {
    if (isTestFile(path)) continue;
    const from = dirname(path);
    for (const { specifier, line } of importsOf(text)) {
      if (!specifier.startsWith('.')) continue;
      const to = dirname(normalize(join(from, specifier)));
      if (to === from || !to.startsWith('src')) continue;
      const imported = graph.get(from) ?? new Map<string, string>();
      if (!imported.has(to)) imported.set(to, `${path}:${line}: import of ${specifier}`);
      graph.set(from, imported);
    }
  }
  return graph;
}
