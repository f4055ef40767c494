import { build } from 'esbuild';
import { embedKoffi } from './dist-embed-koffi.ts';
import { embedNamespaceThread } from './dist-embed-thread.ts';

/** CommonJS packages call `require` for modules of Node.js. */
const PROLOGUE = `#!/usr/bin/env node
import { createRequire as nodeletCreateRequire } from 'node:module';
if (Number.parseInt(process.versions.node, 10) < 24) {
  console.error('nodelet: needs Node.js 24 or newer; this is ' + process.version);
  process.exit(1);
}
const require = nodeletCreateRequire(import.meta.url);`;

/** Writes the program of `entry` as one file that needs only Node.js. */
export async function bundle(entry: string, output: string): Promise<void> {
  await build({
    entryPoints: [entry],
    outfile: output,
    bundle: true,
    platform: 'node',
    format: 'esm',
    // An older Node.js must get as far as the message above.
    target: 'node20',
    banner: { js: PROLOGUE },
    loader: { '.node': 'binary' },
    plugins: [embedKoffi(), embedNamespaceThread()],
    minifyWhitespace: true,
    minifySyntax: true,
    legalComments: 'eof',
    logLevel: 'warning',
  });
}
