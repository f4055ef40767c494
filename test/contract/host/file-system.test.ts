/** The contract of filesystems, on disk and in memory. */
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { createMemoryHost } from '../../../src/host/fake/memory-host.ts';
import type { FileSystem } from '../../../src/host/file-system.ts';
import { linuxFileSystem } from '../../../src/host/linux/fs/linux-file-system.ts';
import { linuxMounts } from '../../../src/host/linux/mount/linux-mounts.ts';
import { needsMounts, needsRoot, temporaryFolder } from './temporary-folder.ts';

interface FilesWorld {
  readonly fs: FileSystem;
  /** An empty folder. */
  readonly root: string;
}

/** `fill()` uses up the space of the filesystem until `free()`. */
interface FillableWorld extends FilesWorld {
  fill(): Promise<void>;
  free(): Promise<void>;
}

type MakeWorld = (t: TestContext) => Promise<FilesWorld>;

fileSystemContract('linux', async (t) => ({ fs: linuxFileSystem, root: await temporaryFolder(t) }), needsRoot);
fileSystemContract('memory', async () => {
  const { fs } = createMemoryHost();
  await fs.makeDirectory('/data');
  return { fs, root: '/data' };
});

fullDiskContract(
  'linux',
  async (t) => {
    const root = await temporaryFolder(t, (folder) => linuxMounts.unmount(folder, { lazy: true }));
    await linuxMounts.mount({ source: 'tmpfs', target: root, type: 'tmpfs', data: 'size=64k,nr_inodes=16' });
    const fillers = Array.from({ length: 16 }, (_, index) => `${root}/filler${index}`);
    return {
      fs: linuxFileSystem,
      root,
      fill: async () => {
        await assert.rejects(linuxFileSystem.writeFile(`${root}/filler0`, new Uint8Array(65_536)));
        await assert.rejects(async () => {
          for (const path of fillers) await linuxFileSystem.writeFile(path, '');
        });
        await assert.rejects(linuxFileSystem.appendFile(`${root}/filler0`, new Uint8Array(65_536)));
      },
      free: async () => {
        for (const path of fillers) await linuxFileSystem.remove(path);
      },
    };
  },
  needsMounts,
);
fullDiskContract('memory', async () => {
  const { fs } = createMemoryHost();
  await fs.makeDirectory('/data');
  const become = (folder: string | undefined) => async () => {
    fs.fullFolder = folder;
  };
  return { fs, root: '/data', fill: become('/data'), free: become(undefined) };
});

/** The behaviour of a full filesystem. */
function fullDiskContract(
  name: string,
  makeWorld: (t: TestContext) => Promise<FillableWorld>,
  skip: string | false = false,
): void {
  test(`${name} file system: without space nothing changes, and existing files can be read and removed`, {
    skip,
  }, async (t) => {
    const { fs, root, fill, free } = await makeWorld(t);
    await fs.writeFile(`${root}/a`, 'kept');
    await fs.makeDirectory(`${root}/d`);
    await fill();
    const writes = [
      () => fs.writeFile(`${root}/b`, 'new'),
      () => fs.writeAtomic(`${root}/a`, 'new'),
      () => fs.writeReplacing(`${root}/a`, 'new'),
      () => fs.makeDirectory(`${root}/e`),
      () => fs.symbolicLink('a', `${root}/l`),
    ];
    for (const write of writes) {
      await assert.rejects(write, {
        name: 'FileSystemError',
        code: 'ENOSPC',
        message: /: no space left on device \(ENOSPC\)$/,
      });
    }
    assert.equal(await fs.readText(`${root}/a`), 'kept');
    await fs.makeDirectory(`${root}/d`);
    await fs.rename(`${root}/a`, `${root}/c`);
    await fs.remove(`${root}/c`);
    await fs.removeTree(`${root}/d`);
    await free();
    assert.deepEqual(await fs.readDirectory(root), []);
    await fs.writeFile(`${root}/a`, 'again');
  });
}

function fileSystemContract(name: string, makeWorld: MakeWorld, skipOwners: string | false = false): void {
  const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);
  const text = (data: Uint8Array): string => new TextDecoder().decode(data);

  test(`${name} file system: reads written data`, async (t) => {
    const { fs, root } = await makeWorld(t);
    await fs.writeFile(`${root}/a`, 'grüß');
    await fs.appendFile(`${root}/a`, bytes(' dich'));
    assert.equal(await fs.readText(`${root}/a`), 'grüß dich');
    assert.deepEqual(new Uint8Array(await fs.readFile(`${root}/a`)), bytes('grüß dich'));
    await fs.writeFile(`${root}/a`, 'short');
    assert.equal(await fs.readText(`${root}/a`), 'short');
  });

  test(`${name} file system: reads a range, shorter at the end, empty beyond it`, async (t) => {
    const { fs, root } = await makeWorld(t);
    await fs.writeFile(`${root}/a`, '0123456789');
    const ranges = [
      [0, 3],
      [8, 5],
      [10, 1],
      [99, 1],
    ] as const;
    const read = await Promise.all(ranges.map(([offset, length]) => fs.readRange(`${root}/a`, offset, length)));
    assert.deepEqual(read.map(text), ['012', '89', '', '']);
  });

  for (const write of ['writeAtomic', 'writeReplacing'] as const) {
    test(`${name} file system: ${write}() replaces the file and leaves no other file`, async (t) => {
      const { fs, root } = await makeWorld(t);
      await fs[write](`${root}/a`, 'old', { mode: 0o600 });
      const before = await fs.stat(`${root}/a`);
      await fs[write](`${root}/a`, bytes('new'), { mode: 0o666 });
      const after = await fs.stat(`${root}/a`);
      assert.equal(await fs.readText(`${root}/a`), 'new');
      assert.deepEqual([before?.mode, after?.mode], [0o600, 0o666]);
      assert.notEqual(before?.inode, after?.inode);
      assert.deepEqual(await fs.readDirectory(root), [{ name: 'a', kind: 'file' }]);
    });

    test(`${name} file system: ${write}() that fails keeps the old content`, async (t) => {
      const { fs, root } = await makeWorld(t);
      await fs.makeDirectory(`${root}/folder`);
      await assert.rejects(fs[write](`${root}/folder`, 'x'), { name: 'FileSystemError', code: 'EISDIR' });
      await assert.rejects(fs[write](`${root}/none/a`, 'x'), { name: 'FileSystemError', code: 'ENOENT' });
      assert.deepEqual(await fs.readDirectory(root), [{ name: 'folder', kind: 'directory' }]);
    });
  }

  test(`${name} file system: a mode is exact, and kept when a file is written again without one`, async (t) => {
    const { fs, root } = await makeWorld(t);
    await fs.writeFile(`${root}/a`, '', { mode: 0o777 });
    await fs.writeFile(`${root}/a`, 'again');
    await fs.makeDirectory(`${root}/d/e`, 0o1777);
    await fs.makeDirectory(`${root}/d/e`, 0o700);
    const modes = [(await fs.stat(`${root}/a`))?.mode, (await fs.stat(`${root}/d/e`))?.mode];
    assert.deepEqual(modes, [0o777, 0o1777]);
    await fs.changeMode(`${root}/a`, 0o4750);
    assert.equal((await fs.stat(`${root}/a`))?.mode, 0o4750);
  });

  test(`${name} file system: a folder cannot be created over a file`, async (t) => {
    const { fs, root } = await makeWorld(t);
    await fs.writeFile(`${root}/a`, '');
    await assert.rejects(fs.makeDirectory(`${root}/a`), { code: 'EEXIST' });
    await assert.rejects(fs.makeDirectory(`${root}/a/b`), { code: 'ENOTDIR' });
  });

  test(`${name} file system: folders are created beneath another, each with the mode`, async (t) => {
    const { fs, root } = await makeWorld(t);
    await fs.makeDirectory(`${root}/v/a`, 0o700);
    await fs.symbolicLink('a', `${root}/v/link`);
    await fs.makeDirectoryBeneath(`${root}/v`, 'link/b/c', 0o3777);
    await fs.makeDirectoryBeneath(`${root}/v`, 'a/b', 0o700);
    const modes = await Promise.all(
      ['a', 'a/b', 'a/b/c'].map(async (path) => (await fs.stat(`${root}/v/${path}`))?.mode),
    );
    assert.deepEqual(modes, [0o700, 0o3777, 0o3777]);
  });

  test(`${name} file system: a new folder has all bits of its mode, setuid, setgid and sticky included`, async (t) => {
    const { fs, root } = await makeWorld(t);
    const modes = [0o2750, 0o4700, 0o1777, 0o3770];
    for (const mode of modes) await fs.makeDirectory(`${root}/${mode}`, mode);
    const found = await Promise.all(modes.map(async (mode) => (await fs.stat(`${root}/${mode}`))?.mode));
    assert.deepEqual(found, modes);
  });

  const ways: Record<string, { path: string; code?: string }> = {
    'a link upwards': { path: 'up/new', code: 'EXDEV' },
    'an absolute link': { path: 'absolute/new', code: 'EXDEV' },
    'a dangling link': { path: 'nowhere/new', code: 'ENOTDIR' },
    'a dangling link to the outside': { path: 'lost/new' },
    'dots in the path': { path: '../new', code: 'EXDEV' },
    'a file': { path: 'file/new', code: 'ENOTDIR' },
  };
  for (const [what, { path, code }] of Object.entries(ways)) {
    test(`${name} file system: no folder is created through ${what}`, async (t) => {
      const { fs, root } = await makeWorld(t);
      for (const folder of ['v', 'outside']) await fs.makeDirectory(`${root}/${folder}`);
      await fs.symbolicLink('../outside', `${root}/v/up`);
      await fs.symbolicLink(`${root}/outside`, `${root}/v/absolute`);
      await fs.symbolicLink('none', `${root}/v/nowhere`);
      await fs.symbolicLink('../outside/none', `${root}/v/lost`);
      await fs.writeFile(`${root}/v/file`, '');
      const expected = { name: 'FileSystemError', ...(code && { code }) };
      await assert.rejects(fs.makeDirectoryBeneath(`${root}/v`, path, 0o755), expected);
      assert.deepEqual(await fs.readDirectory(`${root}/outside`), []);
      assert.equal(await fs.stat(`${root}/new`), undefined);
    });
  }

  test(`${name} file system: a real path has no links and no dots`, async (t) => {
    const { fs, root } = await makeWorld(t);
    const real = await fs.realPath(root);
    await fs.makeDirectory(`${root}/a/b`);
    await fs.symbolicLink('a', `${root}/link`);
    assert.equal(await fs.realPath(`${root}/link/b/../b`), `${real}/a/b`);
    await assert.rejects(fs.realPath(`${root}/none`), { name: 'FileSystemError', code: 'ENOENT' });
  });

  test(`${name} file system: lists names by code point with their kinds`, async (t) => {
    const { fs, root } = await makeWorld(t);
    await fs.makeDirectory(`${root}/b`);
    await fs.symbolicLink('nowhere', `${root}/a`);
    for (const file of ['\u{1F600}', '\uFF5E', 'Z']) await fs.writeFile(`${root}/${file}`, '');
    assert.deepEqual(await fs.readDirectory(root), [
      { name: 'Z', kind: 'file' },
      { name: 'a', kind: 'symlink' },
      { name: 'b', kind: 'directory' },
      { name: '\uFF5E', kind: 'file' },
      { name: '\u{1F600}', kind: 'file' },
    ]);
  });

  test(`${name} file system: stat() of a missing path is undefined`, async (t) => {
    const { fs, root } = await makeWorld(t);
    await fs.writeFile(`${root}/file`, '');
    await fs.symbolicLink('nowhere', `${root}/link`);
    const none = [`${root}/none`, `${root}/none/below`, `${root}/file/below`, `${root}/link`];
    assert.deepEqual(
      await Promise.all(none.map((path) => fs.stat(path))),
      none.map(() => undefined),
    );
    assert.equal((await fs.lstat(`${root}/link`))?.kind, 'symlink');
    assert.equal((await fs.lstat(`${root}/file`))?.size, 0);
  });

  test(`${name} file system: follows links, relative ones from their folder`, async (t) => {
    const { fs, root } = await makeWorld(t);
    await fs.makeDirectory(`${root}/d/e`);
    await fs.writeFile(`${root}/d/file`, 'found');
    await fs.symbolicLink('../file', `${root}/d/e/up`);
    await fs.symbolicLink(`${root}/d`, `${root}/absolute`);
    assert.equal(await fs.readText(`${root}/absolute/e/up`), 'found');
    assert.equal(await fs.readLink(`${root}/d/e/up`), '../file');
    await fs.writeFile(`${root}/absolute/e/up`, 'changed');
    assert.equal(await fs.readText(`${root}/d/file`), 'changed');
    await fs.symbolicLink('loop', `${root}/loop`);
    await assert.rejects(fs.readText(`${root}/loop`), { code: 'ELOOP' });
  });

  test(`${name} file system: renames over an existing file`, async (t) => {
    const { fs, root } = await makeWorld(t);
    await fs.writeFile(`${root}/a`, 'new');
    await fs.writeFile(`${root}/b`, 'old');
    await fs.rename(`${root}/a`, `${root}/b`);
    assert.equal(await fs.readText(`${root}/b`), 'new');
    await fs.makeDirectory(`${root}/d/full`);
    await fs.makeDirectory(`${root}/e`);
    await assert.rejects(fs.rename(`${root}/e`, `${root}/d`), { code: 'ENOTEMPTY' });
    await assert.rejects(fs.rename(`${root}/b`, `${root}/e`), { code: 'EISDIR' });
    await assert.rejects(fs.rename(`${root}/e`, `${root}/b`), { code: 'ENOTDIR' });
    await assert.rejects(fs.rename(`${root}/d`, `${root}/d/full/x`), { code: 'EINVAL' });
    await assert.rejects(fs.rename(`${root}/none`, `${root}/x`), { code: 'ENOENT' });
    await fs.rename(`${root}/d`, `${root}/e`);
    assert.deepEqual(await fs.readDirectory(`${root}/e`), [{ name: 'full', kind: 'directory' }]);
  });

  test(`${name} file system: errors have the errno name`, async (t) => {
    const { fs, root } = await makeWorld(t);
    await fs.writeFile(`${root}/a`, '');
    const failures: Record<string, () => Promise<unknown>> = {
      ENOENT: () => fs.readText(`${root}/none`),
      EISDIR: () => fs.readFile(root),
      ENOTDIR: () => fs.readDirectory(`${root}/a`),
      EINVAL: () => fs.readLink(`${root}/a`),
      EEXIST: () => fs.symbolicLink('x', `${root}/a`),
    };
    for (const [code, failure] of Object.entries(failures)) {
      await assert.rejects(failure(), { name: 'FileSystemError', code });
    }
  });

  test(`${name} file system: an aborted read rejects with the signal's reason`, async (t) => {
    const { fs, root } = await makeWorld(t);
    await fs.writeFile(`${root}/a`, '');
    await assert.rejects(fs.readText(`${root}/a`, AbortSignal.abort(new Error('enough'))), { message: 'enough' });
  });

  test(`${name} file system: changes the owner of a link itself`, { skip: skipOwners }, async (t) => {
    const { fs, root } = await makeWorld(t);
    await fs.writeFile(`${root}/a`, '');
    await fs.symbolicLink('a', `${root}/link`);
    await fs.changeOwner(`${root}/link`, 1000, 2000);
    const owners = [await fs.lstat(`${root}/link`), await fs.lstat(`${root}/a`)].map((stat) => [stat?.uid, stat?.gid]);
    assert.deepEqual(owners, [
      [1000, 2000],
      [0, 0],
    ]);
  });

  test(`${name} file system: removes one file, and ignores a missing one`, async (t) => {
    const { fs, root } = await makeWorld(t);
    await fs.makeDirectory(`${root}/d/e`);
    await fs.symbolicLink('d', `${root}/link`);
    await assert.rejects(fs.remove(`${root}/d`), { code: 'ENOTEMPTY' });
    for (const gone of ['link', 'd/e', 'd', 'none', 'none/below']) await fs.remove(`${root}/${gone}`);
    assert.deepEqual(await fs.readDirectory(root), []);
  });

  test(`${name} file system: removes a tree without following links`, async (t) => {
    const { fs, root } = await makeWorld(t);
    await fs.makeDirectory(`${root}/tree/a/b`);
    await fs.writeFile(`${root}/tree/a/b/file`, '');
    await fs.makeDirectory(`${root}/kept`);
    await fs.writeFile(`${root}/kept/file`, 'kept');
    await fs.symbolicLink(`${root}/kept`, `${root}/tree/a/link`);
    await fs.removeTree(`${root}/tree`);
    await fs.removeTree(`${root}/tree`);
    assert.deepEqual(await fs.readDirectory(root), [{ name: 'kept', kind: 'directory' }]);
    assert.equal(await fs.readText(`${root}/kept/file`), 'kept');
  });

  test(`${name} file system: a tree may be removed twice at once`, async (t) => {
    const { fs, root } = await makeWorld(t);
    for (const folder of ['a/b', 'c', 'd/e/f']) {
      await fs.makeDirectory(`${root}/tree/${folder}`);
      await fs.writeFile(`${root}/tree/${folder}/file`, '');
    }
    await Promise.all([fs.removeTree(`${root}/tree`), fs.removeTree(`${root}/tree`)]);
    assert.deepEqual(await fs.readDirectory(root), []);
  });

  test(`${name} file system: reports space and inodes`, async (t) => {
    const { fs, root } = await makeWorld(t);
    const { capacityBytes, availableBytes, usedBytes } = await fs.usage(root);
    assert.ok(capacityBytes > 0 && availableBytes > 0 && availableBytes <= capacityBytes);
    assert.ok(usedBytes > 0 && usedBytes + availableBytes <= capacityBytes);
    await assert.rejects(fs.usage(`${root}/none`), { code: 'ENOENT' });
  });
}
