/**
 * Writes every generated file, or with `--check` fails when one differs from its tables.
 *
 *   scripts/node tools/generate.ts [--check]
 */
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { generateApi } from './generate-api.ts';
import { generateConfig } from './generate-config.ts';
import { generateCri } from './generate-cri.ts';
import { generateNri } from './generate-nri.ts';
import { generateOtlp } from './generate-otlp.ts';
import { generatePlugins } from './generate-plugins.ts';

/** A generator owns whole folders: other files there are stale. */
export interface Generated {
  readonly folders: readonly string[];
  /** Path below the root → text. */
  readonly files: ReadonlyMap<string, string>;
}

const root = join(import.meta.dirname, '..');

function staleFiles({ folders, files }: Generated): string[] {
  return folders
    .filter((folder) => existsSync(join(root, folder)))
    .flatMap((folder) => readdirSync(join(root, folder), { recursive: true, withFileTypes: true }))
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(root.length + 1))
    .filter((path) => !files.has(path));
}

function differs(path: string, text: string): boolean {
  const full = join(root, path);
  return !existsSync(full) || readFileSync(full, 'utf8') !== text;
}

function write(generated: Generated): void {
  for (const path of staleFiles(generated)) rmSync(join(root, path));
  for (const [path, text] of generated.files) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    if (differs(path, text)) writeFileSync(join(root, path), text);
  }
}

const check = process.argv.includes('--check');
let count = 0;
for (const generate of [generateApi, generateConfig, generateCri, generateNri, generateOtlp, generatePlugins]) {
  const generated = generate(root);
  count += generated.files.size;
  if (check) {
    const changed = [...generated.files].filter(([path, text]) => differs(path, text)).map(([path]) => path);
    for (const path of [...changed, ...staleFiles(generated)]) {
      console.error(`${path}: not what the tables say; run 'make generate'`);
      process.exitCode = 1;
    }
  } else {
    write(generated);
  }
}
console.log(`generated: ${count} files`);
