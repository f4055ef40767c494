/**
 * Builds the distribution, which runs without the checkout: one file for a machine with Node.js 24 or newer, one executable
 * that contains Node.js, and the library for programs that embed an agent. Builds are reproducible on the same machine.
 *
 *   scripts/node tools/dist.ts [FOLDER [ENTRY]]
 */
import { chmodSync, mkdirSync, rmSync, statSync } from 'node:fs';
import { join, relative, resolve } from 'node:path';
import { errorText } from '../src/base/error-text.ts';
import { bundle } from './dist-bundle.ts';
import { executableUnsupportedReason, makeExecutable } from './dist-executable.ts';

const root = resolve(import.meta.dirname, '..');

const MAIN = join(root, 'src/main.ts');
const LIBRARY = join(root, 'src/library.ts');

async function main(folder = join(root, 'dist'), entry = MAIN): Promise<void> {
  const bundled = join(resolve(folder), 'nodelet.mjs');
  const executable = join(resolve(folder), 'nodelet');
  mkdirSync(folder, { recursive: true });
  for (const path of [bundled, executable]) rmSync(path, { force: true });

  if (entry === MAIN) {
    const library = join(resolve(folder), 'library.mjs');
    await bundle(LIBRARY, library);
    report(library);
  }
  await bundle(resolve(entry), bundled);
  chmodSync(bundled, 0o755);
  report(bundled);
  const reason = executableUnsupportedReason();
  if (reason !== undefined) {
    console.log(`${relative(process.cwd(), executable)}: not built: ${reason}`);
    return;
  }
  makeExecutable(bundled, executable);
  report(executable);
}

function report(path: string): void {
  console.log(`${relative(process.cwd(), path)}: ${(statSync(path).size / 1024 ** 2).toFixed(1)} MiB`);
}

try {
  await main(...process.argv.slice(2));
} catch (error) {
  console.error(`dist: ${errorText(error)}`);
  process.exitCode = 1;
}
