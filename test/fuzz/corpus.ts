import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const FOLDER = join(import.meta.dirname, 'corpus');

export interface CorpusEntry {
  readonly name: string;
  readonly input: Uint8Array;
}

/** The kept inputs of a target: samples, and inputs that once failed. */
export function readCorpus(target: string): readonly CorpusEntry[] {
  const folder = join(FOLDER, target);
  if (!existsSync(folder)) return [];
  return readdirSync(folder)
    .toSorted()
    .map((name) => ({ name, input: new Uint8Array(readFileSync(join(folder, name))) }));
}

/** Returns the path of the file. The name has no extension: formatters must not change the bytes. */
export function keepInput(target: string, prefix: 'failed' | 'sample', input: Uint8Array): string {
  const folder = join(FOLDER, target);
  mkdirSync(folder, { recursive: true });
  const digest = createHash('sha256').update(input).digest('hex').slice(0, 10);
  const path = join(folder, `${prefix}-${digest}`);
  writeFileSync(path, input);
  return path;
}
