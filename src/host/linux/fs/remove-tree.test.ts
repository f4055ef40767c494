import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';

test('removeTree() removes a tree that is deeper than the descriptor limit, also twice at once', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'nodelet-deep-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const script = `
    import { mkdirSync, writeFileSync } from 'node:fs';
    import { removeTree } from ${JSON.stringify(import.meta.resolve('./remove-tree.ts'))};
    for (const side of ['left', 'right']) {
      mkdirSync(${JSON.stringify(folder)} + '/tree/' + side, { recursive: true });
      process.chdir(${JSON.stringify(folder)} + '/tree/' + side);
      for (let depth = 0; depth < 500; depth++) {
        mkdirSync('d');
        process.chdir('d');
        writeFileSync('file', '');
      }
    }
    process.chdir('/');
    const tree = ${JSON.stringify(`${folder}/tree`)};
    await Promise.all([removeTree(tree), removeTree(tree)]);
  `;
  const limited = 'ulimit -n 100 && exec "$0" --input-type=module --eval "$1"';
  await promisify(execFile)('sh', ['-c', limited, process.execPath, script]);
  assert.equal(existsSync(`${folder}/tree`), false);
});
