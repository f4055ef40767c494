import assert from 'node:assert/strict';
import {
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { byCodePoint } from '../../../base/code-point-order.ts';
import { errnoCode } from '../sys/errno-code.ts';
import { BATCH_ENTRIES } from './folder-entries.ts';
import { readTree, treeUsage } from './read-tree.ts';
import { removeTree } from './remove-tree.ts';
import { entryTreePath, type WalkEvent, type WalkOptions, walkTree } from './walk-tree.ts';

const never = new AbortController().signal;

/** `root`, which is empty, beside `outside/secret`. */
function makeWorld(t: TestContext): { readonly root: string; readonly outside: string } {
  const folder = mkdtempSync(join(tmpdir(), 'nodelet-walk-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const [root, outside] = [`${folder}/root`, `${folder}/outside`];
  mkdirSync(root);
  mkdirSync(outside);
  writeFileSync(`${outside}/secret`, 'secret');
  return { root, outside };
}

async function visited(
  root: string,
  options: WalkOptions,
  onEvent: (event: WalkEvent) => void = () => {},
): Promise<readonly string[]> {
  const paths: string[] = [];
  for await (const event of walkTree(root, options, never)) {
    onEvent(event);
    if (event.kind === 'enter') paths.push(event.path);
    if (event.kind === 'entries') for (const { name } of event.entries) paths.push(entryTreePath(event.path, name));
  }
  return paths;
}

test('walkTree() visits everything once, with any page size', async (t) => {
  const { root } = makeWorld(t);
  const all = [''];
  for (let index = 0; index < 50; index++) {
    mkdirSync(`${root}/folder-${index}/é`, { recursive: true });
    writeFileSync(`${root}/folder-${index}/é/file`, '');
    writeFileSync(`${root}/file-${index}`, '');
    all.push(`folder-${index}`, `folder-${index}/é`, `folder-${index}/é/file`, `file-${index}`);
  }
  for (let index = 0; index < 40; index++) {
    mkdirSync(`${root}/folder-7/many-${index}`);
    all.push(`folder-7/many-${index}`);
  }
  for (const pageNames of [1, 3, 1000]) {
    assert.deepEqual(
      (await visited(root, { order: 'any', pageNames })).toSorted(byCodePoint),
      all.toSorted(byCodePoint),
    );
    const inOrder = await visited(root, { order: 'byName', pageNames });
    assert.deepEqual(inOrder.toSorted(byCodePoint), all.toSorted(byCodePoint));
    const ofRoot = inOrder.filter((path) => path !== '' && !path.includes('/'));
    assert.deepEqual(ofRoot, ofRoot.toSorted(byCodePoint));
  }
});

test('walkTree() yields batches of bounded size, and the event loop turns between them', async (t) => {
  const { root } = makeWorld(t);
  const entries = 10 * BATCH_ENTRIES;
  for (let index = 0; index < entries; index++) writeFileSync(`${root}/${index}`, '');
  let turn = 0;
  let isOver = false;
  const count = (): void => {
    turn++;
    if (!isOver) setImmediate(count);
  };
  setImmediate(count);
  const inTurn = new Map<number, number>();
  await visited(root, { order: 'any' }, (event) => {
    if (event.kind === 'entries') inTurn.set(turn, (inTurn.get(turn) ?? 0) + event.entries.length);
  });
  isOver = true;
  const counts = [...inTurn.values()];
  assert.equal(
    counts.reduce((sum, each) => sum + each, 0),
    entries,
  );
  // The first batch is read synchronously; each further one in its own turn.
  assert.ok(Math.max(...counts) <= 2 * BATCH_ENTRIES, `${counts}`);
});

test('walkTree() keeps few descriptors open in a deep tree, and none afterwards', async (t) => {
  const { root } = makeWorld(t);
  mkdirSync(`${root}/${'d/'.repeat(200)}`, { recursive: true });
  const before = readdirSync('/proc/self/fd').length;
  let most = 0;
  const found = await visited(root, { order: 'any' }, () => {
    most = Math.max(most, readdirSync('/proc/self/fd').length - before);
  });
  assert.equal(found.length, 201);
  assert.ok(most < 40, `${most}`);
  const abort = new AbortController();
  const aborted = (async () => {
    for await (const event of walkTree(root, { order: 'any' }, abort.signal)) {
      if (event.kind === 'enter' && event.path.length > 100) abort.abort(new Error('enough'));
    }
  })();
  await assert.rejects(aborted, { message: 'enough' });
  assert.equal(readdirSync('/proc/self/fd').length, before);
});

test('walkTree() does not follow a link that replaces a folder', async (t) => {
  const { root, outside } = makeWorld(t);
  mkdirSync(`${root}/a/b`, { recursive: true });
  for (const order of ['any', 'byName'] as const) {
    const found = await visited(root, { order }, (event) => {
      if (event.kind !== 'enter' || event.path !== 'a') return;
      renameSync(`${root}/a`, `${root}/moved`);
      symlinkSync(outside, `${root}/a`);
    });
    assert.ok(found.includes('a/b') && !found.some((path) => path.endsWith('secret')), `${found}`);
    rmSync(`${root}/a`);
    renameSync(`${root}/moved`, `${root}/a`);
  }
  const listed = await visited(root, { order: 'byName' }, (event) => {
    if (event.kind !== 'enter' || event.path !== '') return;
    renameSync(`${root}/a`, `${root}/b`);
    symlinkSync(outside, `${root}/a`);
  });
  assert.deepEqual(listed, ['', 'a', 'b', 'b/b']);
});

test('walkTree() continues in the tree when its current folders are moved out of it', async (t) => {
  const { root, outside } = makeWorld(t);
  mkdirSync(`${root}/a/${'d/'.repeat(60)}`, { recursive: true });
  mkdirSync(`${root}/b`);
  writeFileSync(`${root}/b/file`, '');
  const found = await visited(root, { order: 'byName' }, (event) => {
    if (event.kind !== 'enter' || event.path !== `a${'/d'.repeat(60)}`) return;
    renameSync(`${root}/a/d/d`, `${outside}/d`);
    mkdirSync(`${outside}/other`);
  });
  assert.deepEqual(found.slice(-2), ['b', 'b/file']);
  assert.ok(!found.some((path) => /secret|other/.test(path)));
});

test('removeTree() and treeUsage() stay in a tree whose folders are constantly replaced by links', async (t) => {
  const { root, outside } = makeWorld(t);
  for (let index = 0; index < 300; index++) {
    mkdirSync(`${root}/${index}`);
    writeFileSync(`${root}/${index}/secret`, '');
  }
  let isOver = false;
  const swap = (index: number): void => {
    if (isOver) return;
    const place = `${root}/${index % 300}`;
    try {
      if (lstatSync(place).isDirectory()) {
        renameSync(place, `${outside}/taken-${index}`);
        symlinkSync(outside, place);
      }
    } catch (error) {
      assert.equal(errnoCode(error), 'ENOENT'); // it was just removed
    }
    setImmediate(swap, index + 7);
  };
  swap(0);
  const used = await treeUsage(root, never);
  await removeTree(root);
  isOver = true;
  assert.ok(used.inodes <= 1 + 2 * 300, `${used.inodes}`);
  assert.equal(readFileSync(`${outside}/secret`, 'utf8'), 'secret');
  assert.equal(existsSync(root), false);
});

test('readTree() does not read a link that replaces a file', async (t) => {
  const { root, outside } = makeWorld(t);
  writeFileSync(`${root}/file`, 'own');
  const read = async (): Promise<void> => {
    for await (const { node } of readTree(root, never)) {
      if (node.kind !== 'file') continue;
      rmSync(`${root}/file`);
      symlinkSync(`${outside}/secret`, `${root}/file`);
      for await (const _ of node.content) assert.fail('it was read');
    }
  };
  await assert.rejects(read(), { name: 'FileSystemError', code: 'ESTALE' });
});
