/** The contract of whole file trees, on disk and in memory. */
import assert from 'node:assert/strict';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { type TestContext, test } from 'node:test';
import { createMemoryHost } from '../../../src/host/fake/memory-host.ts';
import type { FileSystem } from '../../../src/host/file-system.ts';
import { linuxFileSystem } from '../../../src/host/linux/fs/linux-file-system.ts';
import type { TreeAttributes, TreeContent, TreeFiles, TreeNode, TreeWriter } from '../../../src/host/tree.ts';
import { needsRoot, temporaryFolder } from './temporary-folder.ts';

const never = new AbortController().signal;

interface World {
  readonly fs: FileSystem;
  /** Empty, beside `outside/secret`. */
  readonly root: string;
  readonly outside: string;
}

async function makeWorld(fs: FileSystem, folder: string): Promise<World> {
  const [root, outside] = [`${folder}/root`, `${folder}/outside`];
  await fs.makeDirectory(root);
  await fs.makeDirectory(outside);
  await fs.writeFile(`${outside}/secret`, 'secret');
  return { fs, root, outside };
}

const plain: TreeAttributes = { mode: 0o644, uid: 0, gid: 0, modifiedMs: 1_000_000_000_000 };
/** The result of `shown` for a member that is put with `plain`. */
const plainShown = { mode: plain.mode, uid: 0, gid: 0 };
const folder: TreeAttributes & TreeContent = { ...plain, mode: 0o755, kind: 'directory' };

function file(text: string): TreeContent {
  const bytes = new TextEncoder().encode(text);
  return {
    kind: 'file',
    size: bytes.byteLength,
    content: (async function* () {
      if (bytes.byteLength > 0) yield bytes;
    })(),
  };
}

async function shown({ fs, root }: World): Promise<Record<string, unknown>> {
  const all: Record<string, unknown> = {};
  for await (const { path, node } of fs.readTree(root, never)) {
    if (node.kind !== 'file') {
      const { modifiedMs: _, xattrs: __, ...rest } = node;
      all[path] = rest;
      continue;
    }
    const chunks: Uint8Array[] = [];
    for await (const chunk of node.content) chunks.push(chunk);
    all[path] = Buffer.concat(chunks).toString();
  }
  return all;
}

/** `memory`: quick, for very many files. */
type Disk = 'any' | 'memory';

function treeContract(
  name: string,
  make: (t: TestContext, disk?: Disk) => Promise<World>,
  skip: string | false = false,
): void {
  const options = { skip };

  test(`${name} trees: members are read with every attribute that was put`, options, async (t) => {
    const { fs, root } = await make(t);
    const xattrs = new Map([['user.note', new TextEncoder().encode('kept')]]);
    await using writer = await fs.writeTree(root);
    const wanted: Record<string, TreeAttributes & TreeContent> = {
      '': { ...folder, mode: 0o711, uid: 5, gid: 6 },
      a: { ...folder, mode: 0o1777, modifiedMs: 1_500_000_000_000 },
      'a/device': { ...plain, kind: 'characterDevice', major: 259, minor: 300 },
      'a/disk': { ...plain, kind: 'blockDevice', major: 8, minor: 1 },
      'a/file': { ...plain, mode: 0o6755, uid: 7, gid: 8, xattrs, ...file('text') },
      'a/link': { ...plain, mode: 0o777, uid: 1, gid: 2, kind: 'symlink', target: '/nowhere' },
      'a/pipe': { ...plain, mode: 0o600, kind: 'fifo' },
      same: { ...plain, mode: 0o6755, uid: 7, gid: 8, xattrs, kind: 'hardLink', target: 'a/file' },
    };
    for (const [path, node] of Object.entries(wanted)) await writer.put(path, node);
    await writer.finish({ toDisk: true });
    const found: Record<string, unknown> = {};
    for await (const { path, node } of fs.readTree(root, never)) found[path] = node;
    const strip = (nodes: Record<string, unknown>) => JSON.parse(JSON.stringify(nodes, skipContent));
    assert.deepEqual(strip(found), strip(wanted));
    assert.deepEqual([...writer.implied], []);
  });

  const puts: Record<string, { put: [string, TreeContent][]; want: Record<string, unknown> }> = {
    'a file replaces a file': {
      put: [
        ['a', file('old')],
        ['a', file('new')],
      ],
      want: { a: 'new' },
    },
    'a file replaces a folder with all in it': {
      put: [
        ['a/b/c', file('')],
        ['a', file('new')],
      ],
      want: { a: 'new' },
    },
    'a file in a folder replaces another': {
      put: [
        ['a', { kind: 'directory' }],
        ['a/b', file('old')],
        ['a/b', file('new')],
      ],
      want: { a: { ...plainShown, kind: 'directory' }, 'a/b': 'new' },
    },
    'a folder replaces a file': {
      put: [
        ['a', file('old')],
        ['a', { kind: 'directory' }],
        ['a/b', file('x')],
      ],
      want: { a: { ...plainShown, kind: 'directory' }, 'a/b': 'x' },
    },
    'a folder keeps its content': {
      put: [
        ['a/b', file('x')],
        ['a', { kind: 'directory' }],
      ],
      want: { a: { ...plainShown, kind: 'directory' }, 'a/b': 'x' },
    },
    'a link is resolved inside the folder': {
      put: [
        ['real', { kind: 'directory' }],
        ['way', { kind: 'symlink', target: '/real' }],
        ['way/file', file('x')],
      ],
      want: {
        real: { ...plainShown, kind: 'directory' },
        'real/file': 'x',
        way: { ...plainShown, mode: 0o777, kind: 'symlink', target: '/real' },
      },
    },
    'a file replaces a link, not its target': {
      put: [
        ['real', file('kept')],
        ['way', { kind: 'symlink', target: 'real' }],
        ['way', file('new')],
      ],
      want: { real: 'kept', way: 'new' },
    },
    'a hard link to a link is the link': {
      put: [
        ['one', { kind: 'symlink', target: '../outside/secret' }],
        ['two', { kind: 'hardLink', target: 'one' }],
      ],
      want: {
        one: { ...plainShown, mode: 0o777, kind: 'symlink', target: '../outside/secret' },
        two: { ...plainShown, mode: 0o777, kind: 'hardLink', target: 'one' },
      },
    },
    'a hard link to itself changes nothing': {
      put: [
        ['a', file('x')],
        ['a', { kind: 'hardLink', target: 'a' }],
      ],
      want: { a: 'x' },
    },
  };
  for (const [what, { put, want }] of Object.entries(puts)) {
    test(`${name} trees: ${what}`, options, async (t) => {
      const world = await make(t);
      await using writer = await world.fs.writeTree(world.root);
      for (const [path, content] of put) await writer.put(path, { ...plain, ...content });
      const { '': _, ...found } = await shown(world);
      assert.deepEqual(found, want);
    });
  }

  const escapes: Record<string, { links: Record<string, string>; act: (writer: TreeWriter) => Promise<unknown> }> = {
    'a link upwards': {
      links: { out: '../outside' },
      act: (writer) => writer.put('out/secret', { ...plain, ...file('changed') }),
    },
    'an absolute link': {
      links: { out: 'OUTSIDE' },
      act: (writer) => writer.put('out/secret', { ...plain, ...file('changed') }),
    },
    'a link through a link': {
      links: { one: 'two', two: '../../../../outside' },
      act: (writer) => writer.put('one/secret', { ...plain, ...file('changed') }),
    },
    'a link as the last name': {
      links: { secret: 'OUTSIDE/secret' },
      act: (writer) => writer.put('secret', { ...plain, ...file('changed') }),
    },
    'a folder that replaces a link': {
      links: { out: 'OUTSIDE' },
      act: async (writer) => {
        await writer.put('out', folder);
        await writer.put('out/secret', { ...plain, ...file('changed') });
      },
    },
    'dots in the path': {
      links: {},
      act: (writer) => writer.put('a/../../outside/secret', { ...plain, ...file('changed') }),
    },
    'a removal through a link': { links: { out: 'OUTSIDE' }, act: (writer) => writer.remove('out/secret') },
    'a removal of a link': { links: { out: 'OUTSIDE' }, act: (writer) => writer.remove('out') },
    'an attribute through a link': {
      links: { out: 'OUTSIDE' },
      act: (writer) => writer.setXattr('out/secret', 'user.x', new Uint8Array([1])),
    },
    'a hard link through a link': {
      links: { out: 'OUTSIDE' },
      act: (writer) => writer.put('mine', { ...plain, kind: 'hardLink', target: 'out/secret' }),
    },
    'a link to itself': { links: { loop: 'loop' }, act: (writer) => writer.put('loop/a', { ...plain, ...file('') }) },
  };
  for (const [what, { links, act }] of Object.entries(escapes)) {
    test(`${name} trees: nothing leads out of the folder: ${what}`, options, async (t) => {
      const { fs, root, outside } = await make(t);
      await using writer = await fs.writeTree(root);
      for (const [path, target] of Object.entries(links)) {
        await writer.put(path, { ...plain, kind: 'symlink', target: target.replace('OUTSIDE', outside) });
      }
      await act(writer).catch((error: unknown) => assert.equal((error as Error).name, 'FileSystemError'));
      assert.equal(await fs.readText(`${outside}/secret`), 'secret');
      assert.deepEqual(await fs.readDirectory(outside), [{ name: 'secret', kind: 'file' }]);
      const found: string[] = [];
      for await (const { path, node } of fs.readTree(root, never)) {
        if (node.kind !== 'file') continue;
        for await (const chunk of node.content) found.push(`${path}: ${Buffer.from(chunk).toString()}`);
      }
      assert.ok(!found.some((text) => text.endsWith('secret')), `${found}`);
    });
  }

  test(`${name} trees: missing folders are created and implied until they are put`, options, async (t) => {
    const world = await make(t);
    const { fs, root } = world;
    await using writer = await fs.writeTree(root);
    await writer.put('a/b/file', { ...plain, ...file('') });
    assert.deepEqual(writer.implied, new Set(['a', 'a/b']));
    await writer.put('a', { ...folder, mode: 0o700 });
    assert.deepEqual([...writer.implied], ['a/b']);
    assert.deepEqual([(await fs.stat(`${root}/a`))?.mode, (await fs.stat(`${root}/a/b`))?.mode], [0o700, 0o755]);
  });

  test(`${name} trees: a folder that is removed and put again is a new one`, options, async (t) => {
    const world = await make(t);
    await using writer = await world.fs.writeTree(world.root);
    await writer.put('a/b/file', { ...plain, ...file('old') });
    await writer.remove('a/b/file');
    assert.equal(await writer.kind('a/b/file'), undefined);
    await writer.remove('a');
    await writer.remove('a');
    assert.equal(await writer.kind('a/b/file'), undefined);
    await writer.put('a/b/file', { ...plain, ...file('new') });
    assert.deepEqual([await writer.kind('a/b/file'), await writer.kind('a')], ['file', 'directory']);
    assert.equal(await world.fs.readText(`${world.root}/a/b/file`), 'new');
  });

  test(`${name} trees: folders have their times after finish()`, options, async (t) => {
    const { fs, root } = await make(t);
    await using writer = await fs.writeTree(root);
    await writer.put('a', { ...folder, modifiedMs: 1_234_000 });
    await writer.put('a/file', { ...plain, ...file('') });
    await writer.finish();
    assert.equal((await fs.stat(`${root}/a`))?.modifiedMs, 1_234_000);
    assert.equal((await fs.stat(`${root}/a/file`))?.modifiedMs, plain.modifiedMs);
  });

  test(`${name} trees: a file with two links counts once; a missing folder uses nothing`, options, async (t) => {
    const { fs, root } = await make(t);
    await using writer = await fs.writeTree(root);
    const empty = await fs.treeUsage(root, never);
    await writer.put('file', { ...plain, ...file('x'.repeat(10_000)) });
    const one = await fs.treeUsage(root, never);
    await writer.put('same', { ...plain, kind: 'hardLink', target: 'file' });
    assert.deepEqual(await fs.treeUsage(root, never), one);
    assert.equal(one.inodes, empty.inodes + 1);
    assert.ok(one.bytes >= empty.bytes + 10_000);
    assert.deepEqual(await fs.treeUsage(`${root}/none`, never), { bytes: 0, inodes: 0 });
  });

  test(`${name} trees: an error of the content rejects the put`, options, async (t) => {
    const { fs, root } = await make(t);
    await using writer = await fs.writeTree(root);
    const content = (async function* () {
      yield new Uint8Array([1]);
      throw new Error('cut off');
    })();
    await assert.rejects(writer.put('a', { ...plain, kind: 'file', size: 9, content }), { message: 'cut off' });
    await assert.rejects(fs.writeTree(`${root}/none`), { name: 'FileSystemError', code: 'ENOENT' });
  });

  test(`${name} trees: names that are not UTF-8 are kept byte for byte, and can be removed`, options, async (t) => {
    const { fs, root } = await make(t);
    const [odd, other] = ['a\udcff', 'a\udcfe'];
    await using writer = await fs.writeTree(root);
    await writer.put(odd, folder);
    await writer.put(`${odd}/${odd}`, { ...plain, ...file('text') });
    await writer.put(`${odd}/${other}`, { ...plain, kind: 'hardLink', target: `${odd}/${odd}` });
    await writer.put(other, { ...plain, kind: 'symlink', target: odd });
    assert.deepEqual([await writer.kind(other), await writer.kind(`${other}/${odd}`)], ['symlink', 'file']);
    assert.deepEqual(Object.keys(await shown({ fs, root, outside: '' })), [
      '',
      other,
      odd,
      `${odd}/${other}`,
      `${odd}/${odd}`,
    ]);
    assert.equal((await fs.lstat(`${root}/${odd}`))?.kind, 'directory');
    await writer.remove(odd);
    assert.equal((await fs.treeUsage(root, never)).inodes, 2);
    await fs.removeTree(root);
    assert.equal(await fs.lstat(root), undefined);
  });

  test(`${name} trees: a file with holes has its content at its offsets`, options, async (t) => {
    const { fs, root } = await make(t);
    await using writer = await fs.writeTree(root);
    const extents = [
      { offset: 2, length: 3 },
      { offset: 8, length: 1 },
    ];
    await writer.put('a', { ...plain, ...file('abcd'), kind: 'file', size: 12, extents } as TreeNode);
    assert.equal(await fs.readText(`${root}/a`), '\0\0abc\0\0\0d\0\0\0');
    const endless = { ...plain, ...file(''), kind: 'file', size: 2 ** 52, extents: [] } as TreeNode;
    await assert.rejects(writer.put('b', endless), { name: 'FileSystemError', code: 'EFBIG' });
  });

  test(`${name} trees: onReplace is called before a member is replaced`, options, async (t) => {
    const { fs, root } = await make(t);
    const replaced: unknown[] = [];
    await using files = await fs.openTree(root);
    await using writer = await fs.writeTree(root, {
      onReplace: async (path, kind) => {
        replaced.push([path, kind, kind === 'file' ? await textOf(files, path) : '']);
      },
    });
    await writer.put('a', { ...plain, ...file('first') });
    await writer.put('b', { ...plain, kind: 'hardLink', target: 'a' });
    await writer.put('b', { ...plain, kind: 'hardLink', target: 'a' });
    await writer.put('a', { ...plain, ...file('second') });
    await writer.put('a', folder);
    await writer.put('a', folder);
    await writer.put('a/x', { ...plain, ...file('') });
    await writer.put('a', { ...plain, kind: 'symlink', target: 'b' });
    await writer.put('a', { ...plain, kind: 'fifo' });
    assert.deepEqual(replaced, [
      ['a', 'file', 'first'],
      ['a', 'file', 'second'],
      ['a', 'directory', ''],
      ['a', 'symlink', ''],
    ]);
  });

  test(`${name} trees: files are read through links that are resolved inside`, options, async (t) => {
    const { fs, root, outside } = await make(t);
    await using writer = await fs.writeTree(root);
    await writer.put('real/file', { ...plain, ...file('0123456789') });
    await writer.put('link', { ...plain, kind: 'symlink', target: '/real' });
    await writer.put('out', { ...plain, kind: 'symlink', target: `${outside}/secret` });
    await writer.put('pipe', { ...plain, kind: 'fifo' });
    await writer.put('device', { ...plain, kind: 'characterDevice', major: 10, minor: 250 });
    await using files = await fs.openTree(root);
    assert.equal(await textOf(files, 'link/file', { offset: 2, length: 3 }), '234');
    assert.equal(await textOf(files, 'real/file', { offset: 8, length: 99 }), '89');
    await assert.rejects(textOf(files, 'out'), { name: 'FileSystemError', code: 'ENOENT' });
    await assert.rejects(textOf(files, 'real'), { name: 'FileSystemError', code: 'EISDIR' });
    await assert.rejects(textOf(files, 'pipe'), { name: 'FileSystemError', code: 'ENXIO' });
    // Opening a device without a driver would fail with ENODEV: devices must not be opened.
    await assert.rejects(textOf(files, 'device'), { name: 'FileSystemError', code: 'ENXIO' });
    await assert.rejects(fs.openTree(`${root}/none`), { name: 'FileSystemError', code: 'ENOENT' });
  });

  test(`${name} trees: a tree deeper than any path is counted, read and removed`, options, async (t) => {
    const { fs, root } = await make(t);
    await using writer = await fs.writeTree(root);
    const deep = Array.from({ length: 15 }, () => 'd'.repeat(200)).join('/');
    await writer.put(deep, folder);
    await writer.put('down', { ...plain, kind: 'symlink', target: `/${deep}` });
    await writer.put(`down/${deep}`, folder);
    await writer.put('further', { ...plain, kind: 'symlink', target: `/down/${deep}` });
    await writer.put('further/file', { ...plain, ...file('deep') });
    assert.equal((await fs.treeUsage(root, never)).inodes, 1 + 15 + 15 + 3);
    assert.equal((await shown({ fs, root, outside: '' }))[`${deep}/${deep}/file`], 'deep');
    await fs.removeTree(root);
    assert.equal(await fs.lstat(root), undefined);
  });

  test(`${name} trees: 150,000 entries of one folder are counted, read in order and removed`, options, async (t) => {
    const { fs, root } = await make(t, 'memory');
    const [files, folders] = [149_000, 1_000];
    for (let index = 0; index < files; index++) await makeEntry(fs, 'file', `${root}/file-${index}`);
    for (let index = 0; index < folders; index++) await makeEntry(fs, 'directory', `${root}/folder-${index}`);
    assert.equal((await fs.treeUsage(root, never)).inodes, 1 + files + folders);
    let [members, last] = [0, ''];
    for await (const { path } of fs.readTree(root, never)) {
      assert.ok(members++ === 0 || path > last, `${path} after ${last}`);
      last = path;
    }
    assert.equal(members, 1 + files + folders);
    await fs.removeTree(root);
    assert.equal(await fs.lstat(root), undefined);
  });

  test(
    `${name} trees: a chain of 2,000 folders is counted, read, changed to a group and removed`,
    options,
    async (t) => {
      const { fs, root } = await make(t);
      await using writer = await fs.writeTree(root);
      const deep = Array.from({ length: 2000 }, () => 'd').join('/');
      await writer.put(deep, folder);
      assert.equal((await fs.treeUsage(root, never)).inodes, 2001);
      const members = await Array.fromAsync(fs.readTree(root, never), ({ path }) => path);
      assert.deepEqual([members.length, members.at(-1)], [2001, deep]);
      await fs.setTreeGroup(root, { gid: 7, fileMode: 0o660, folderMode: 0o2770 });
      const given = await Array.fromAsync(
        fs.readTree(root, never),
        ({ node }) => `${node.gid} ${node.mode.toString(8)}`,
      );
      assert.deepEqual([...new Set(given)], ['7 2775']);
      await fs.removeTree(root);
      assert.equal(await fs.lstat(root), undefined);
    },
  );

  test(`${name} trees: the group of a tree is changed, links themselves included`, options, async (t) => {
    const { fs, root, outside } = await make(t);
    await using writer = await fs.writeTree(root);
    await writer.put('', folder);
    await writer.put('file', { ...plain, mode: 0o4600, uid: 5, ...file('') });
    await writer.put('folder', { ...folder, mode: 0o1700 });
    await writer.put('folder/link', { ...plain, mode: 0o777, kind: 'symlink', target: `${outside}/secret` });
    const before = await fs.stat(`${outside}/secret`);
    const progress: number[] = [];
    const onProgress = (files: number): void => void progress.push(files);
    await fs.setTreeGroup(root, { gid: 7, fileMode: 0o660, folderMode: 0o2770, onProgress }, never);
    assert.equal(progress.at(-1), 4);
    await fs.setTreeGroup(`${root}/none`, { gid: 7, fileMode: 0o660, folderMode: 0o2770 });
    const given: Record<string, string> = {};
    for await (const { path, node } of fs.readTree(root, never)) {
      given[path] = `${node.uid}:${node.gid} ${node.mode.toString(8)}`;
    }
    const want = { '': '0:7 2775', file: '5:7 4660', folder: '0:7 3770', 'folder/link': '0:7 777' };
    assert.deepEqual(given, want);
    assert.deepEqual(await fs.stat(`${outside}/secret`), before);
  });

  test(`${name} trees: removing the root empties it`, options, async (t) => {
    const { fs, root } = await make(t);
    await using writer = await fs.writeTree(root);
    await writer.put('a/b/c', { ...plain, ...file('') });
    await writer.remove('');
    assert.deepEqual(await fs.readDirectory(root), []);
    await writer.put('a/b', { ...plain, ...file('new') });
    assert.equal(await fs.readText(`${root}/a/b`), 'new');
  });

  test(`${name} trees: an abort ends every operation on a tree`, options, async (t) => {
    const { fs, root } = await make(t);
    await fs.writeFile(`${root}/file`, '');
    const aborted = AbortSignal.abort(new Error('enough'));
    await assert.rejects(fs.treeUsage(root, aborted), { message: 'enough' });
    await assert.rejects(Array.fromAsync(fs.readTree(root, aborted)), { message: 'enough' });
    await assert.rejects(fs.removeTree(root, aborted), { message: 'enough' });
    const access = { gid: 7, fileMode: 0, folderMode: 0 };
    await assert.rejects(fs.setTreeGroup(root, access, aborted), { message: 'enough' });
    assert.equal((await fs.stat(`${root}/file`))?.kind, 'file');
  });

  test(`${name} trees: a name or a path that is too long is rejected`, options, async (t) => {
    const { fs, root } = await make(t);
    await using writer = await fs.writeTree(root);
    for (const path of ['x'.repeat(256), 'é'.repeat(128), `${'d/'.repeat(2100)}x`]) {
      await assert.rejects(writer.put(path, { ...plain, ...file('') }), { code: 'ENAMETOOLONG' });
    }
    await writer.put('x'.repeat(255), { ...plain, ...file('') });
  });
}

/** Creates files without a promise each: 150,000 of them take a while. */
async function makeEntry(fs: FileSystem, kind: 'file' | 'directory', path: string): Promise<void> {
  if (fs !== linuxFileSystem) await (kind === 'file' ? fs.writeFile(path, '') : fs.makeDirectory(path));
  else if (kind === 'file') writeFileSync(path, '');
  else mkdirSync(path);
}

async function textOf(files: TreeFiles, path: string, extent = { offset: 0, length: 1000 }): Promise<string> {
  const parts: Uint8Array[] = [];
  for await (const part of files.read(path, extent, never)) parts.push(part);
  return Buffer.concat(parts).toString();
}

function skipContent(key: string, value: unknown): unknown {
  if (key === 'content') return undefined;
  return value instanceof Map ? [...value] : value;
}

const tmpfs = existsSync('/dev/shm') ? '/dev/shm' : tmpdir();
treeContract(
  'linux',
  async (t, disk) =>
    makeWorld(linuxFileSystem, await temporaryFolder(t, undefined, disk === 'memory' ? tmpfs : tmpdir())),
  needsRoot,
);
treeContract('memory', async () => makeWorld(createMemoryHost().fs, '/data'));
