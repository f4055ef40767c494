/**
 * The cost of directories with very many entries: time, peak memory and the longest block of the event loop.
 *
 *     scripts/node test/bench/large-folders.ts [--entries 1000000] [--folder /tmp]
 */
import { execFileSync } from 'node:child_process';
import { closeSync, mkdirSync, mkdtempSync, openSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { linuxFileSystem as fs } from '../../src/host/linux/fs/linux-file-system.ts';

const { values } = parseArgs({
  options: {
    entries: { type: 'string', default: '1000000' },
    folder: { type: 'string', default: tmpdir() },
    measure: { type: 'string' },
    tree: { type: 'string', default: '' },
  },
});
const never = new AbortController().signal;

const OPERATIONS: Record<string, (tree: string) => Promise<unknown>> = {
  treeUsage: (tree) => fs.treeUsage(tree, never),
  readTree: async (tree) => {
    let members = 0;
    for await (const _ of fs.readTree(tree, never)) members++;
    return members;
  },
  removeTree: (tree) => fs.removeTree(tree),
};

/** Runs in a separate process, so that its peak memory is that of the operation. */
async function measure(operation: string, tree: string): Promise<void> {
  const idleBytes = process.memoryUsage.rss();
  const began = performance.now();
  let last = began;
  let longestTurn = 0;
  const turns = setInterval(() => {
    const now = performance.now();
    longestTurn = Math.max(longestTurn, now - last);
    last = now;
  }, 1);
  const outcome = await OPERATIONS[operation]?.(tree).catch((error: unknown) => `fails: ${error}`.slice(0, 60));
  longestTurn = Math.max(longestTurn, performance.now() - last);
  clearInterval(turns);
  const seconds = ((performance.now() - began) / 1000).toFixed(1);
  const peak = (process.resourceUsage().maxRSS * 1024 - idleBytes) / 2 ** 20;
  const result = typeof outcome === 'string' ? outcome : '';
  console.log(
    `  ${operation.padEnd(10)} ${seconds} s, +${peak.toFixed(0)} MiB, blocked ${longestTurn.toFixed(0)} ms ${result}`,
  );
}

function makeWide(tree: string, entries: number, make: (path: string) => void): void {
  mkdirSync(tree);
  for (let index = 0; index < entries; index++) make(`${tree}/entry-${index}`);
}

function makeDeep(tree: string, depth: number): void {
  mkdirSync(tree);
  const before = process.cwd();
  process.chdir(tree);
  for (let level = 0; level < depth; level++) {
    mkdirSync('folder');
    process.chdir('folder');
  }
  process.chdir(before);
}

function compare(): void {
  const entries = Number(values.entries);
  const root = mkdtempSync(join(values.folder, 'nodelet-large-'));
  const shapes: Record<string, (tree: string) => void> = {
    [`${entries} files in one directory`]: (tree) => makeWide(tree, entries, (path) => closeSync(openSync(path, 'wx'))),
    [`${entries / 5} directories in one directory`]: (tree) => makeWide(tree, entries / 5, (path) => mkdirSync(path)),
    '2000 nested directories': (tree) => makeDeep(tree, 2000),
  };
  try {
    for (const [shape, make] of Object.entries(shapes)) {
      console.log(shape);
      const tree = `${root}/tree`;
      make(tree);
      for (const operation of Object.keys(OPERATIONS)) {
        const args = [import.meta.filename, '--measure', operation, '--tree', tree];
        process.stdout.write(execFileSync(process.execPath, args, { encoding: 'utf8' }));
      }
    }
  } finally {
    rmSync(root, { recursive: true, force: true });
  }
}

if (values.measure !== undefined) await measure(values.measure, values.tree);
else compare();
