import { parseYaml, type YamlNode } from '../../api/decode/yaml-tree.ts';
import { type FileSystem, FileSystemError } from '../../host/file-system.ts';
import type { CdiSpecs, RankedCdiSpec } from './cdi-devices.ts';
import { parseCdiSpec } from './parse-cdi-spec.ts';

/** Loads all specifications in these directories. Missing directories are ignored. */
export async function loadCdiSpecs(folders: readonly string[], fs: FileSystem): Promise<CdiSpecs> {
  const specs: RankedCdiSpec[] = [];
  const errors: string[] = [];
  for (const [priority, folder] of folders.entries()) {
    for (const path of await specFiles(folder, fs)) {
      try {
        specs.push({ path, priority, spec: parseCdiSpec(parseSpecText(await fs.readText(path), path)) });
      } catch (error) {
        errors.push(`${path}: ${error instanceof Error ? error.message : String(error)}`);
      }
    }
  }
  return { specs, errors };
}

async function specFiles(folder: string, fs: FileSystem): Promise<string[]> {
  try {
    const entries = await fs.readDirectory(folder);
    return entries.filter(({ name }) => /\.(json|yaml)$/.test(name)).map(({ name }) => `${folder}/${name}`);
  } catch (error) {
    if (error instanceof FileSystemError && (error.code === 'ENOENT' || error.code === 'ENOTDIR')) return [];
    throw error;
  }
}

function parseSpecText(text: string, path: string): unknown {
  if (path.endsWith('.json')) return JSON.parse(text);
  const [document, ...more] = parseYaml(text).documents;
  if (document === undefined || more.length > 0) throw new Error('expected one document');
  if ('errors' in document) throw new Error(document.errors.map(({ message }) => message).join('; '));
  return plainValue(document.node);
}

function plainValue(node: YamlNode): unknown {
  switch (node.kind) {
    case 'map':
      return Object.fromEntries([...node.entries].map(([key, entry]) => [key, plainValue(entry.node)]));
    case 'list':
      return node.items.map(plainValue);
    default:
      return node.value;
  }
}
