/** No file outside a folder can be opened through it, whether the folder is on disk or in memory. */
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { createMemoryHost } from '../../../src/host/fake/memory-host.ts';
import type { FileSystem } from '../../../src/host/file-system.ts';
import { linuxFileSystem } from '../../../src/host/linux/fs/linux-file-system.ts';
import { temporaryFolder } from './temporary-folder.ts';

const worlds: Record<string, (t: TestContext) => Promise<{ fs: FileSystem; root: string }>> = {
  linux: async (t) => ({ fs: linuxFileSystem, root: await temporaryFolder(t) }),
  memory: async () => {
    const { fs } = createMemoryHost();
    await fs.makeDirectory('/data');
    return { fs, root: '/data' };
  },
};

const ways: Record<string, { path: string; text: string } | { path: string; code: string }> = {
  'a file': { path: 'folder/file', text: 'inside' },
  'a link that stays inside': { path: 'link', text: 'inside' },
  'a folder that is a link': { path: 'same/file', text: 'inside' },
  'a link upwards': { path: 'up', code: 'EXDEV' },
  'an absolute link out': { path: 'absolute', code: 'EXDEV' },
  'a folder outside': { path: 'out/secret', code: 'EXDEV' },
  'dots in the path': { path: '../outside/secret', code: 'EXDEV' },
  'a folder': { path: 'folder', code: 'EISDIR' },
  'a missing file': { path: 'none', code: 'ENOENT' },
};

for (const [name, makeWorld] of Object.entries(worlds)) {
  for (const [what, way] of Object.entries(ways)) {
    test(`${name} file system: opens beneath a folder ${'text' in way ? '' : 'not '}${what}`, async (t) => {
      const { fs, root } = await makeWorld(t);
      await fs.makeDirectory(`${root}/v/folder`);
      await fs.makeDirectory(`${root}/outside`);
      await fs.writeFile(`${root}/outside/secret`, 'outside');
      await fs.writeFile(`${root}/v/folder/file`, 'inside');
      await fs.symbolicLink('folder/file', `${root}/v/link`);
      await fs.symbolicLink('folder', `${root}/v/same`);
      await fs.symbolicLink('../outside/secret', `${root}/v/up`);
      await fs.symbolicLink(`${root}/outside/secret`, `${root}/v/absolute`);
      await fs.symbolicLink('../outside', `${root}/v/out`);
      if ('code' in way) {
        const expected = { name: 'FileSystemError', code: way.code, path: `${root}/v/${way.path}` };
        return assert.rejects(fs.openFileBeneath(`${root}/v`, way.path), expected);
      }
      await using file = await fs.openFileBeneath(`${root}/v`, way.path);
      const { size } = await file.stat();
      assert.equal(new TextDecoder().decode(await file.read(0, size)), way.text);
    });
  }
}

for (const [name, makeWorld] of Object.entries(worlds)) {
  test(`${name} file system: lists a folder beneath a folder, and none outside of it`, async (t) => {
    const { fs, root } = await makeWorld(t);
    await fs.makeDirectory(`${root}/v/folder/below`);
    await fs.makeDirectory(`${root}/outside`);
    await fs.writeFile(`${root}/v/folder/file`, '');
    await fs.symbolicLink('below', `${root}/v/folder/link`);
    await fs.symbolicLink('../outside', `${root}/v/out`);
    await fs.symbolicLink('folder', `${root}/v/same`);
    for (const path of ['folder', 'same']) {
      await using folder = await fs.openDirectoryBeneath(`${root}/v`, path);
      assert.equal((await folder.stat()).kind, 'directory');
      const names = (await Array.fromAsync(folder.entries())).flat();
      assert.deepEqual(
        names.toSorted((a, b) => (a.name < b.name ? -1 : 1)),
        [
          { name: 'below', isFolder: true },
          { name: 'file', isFolder: false },
          { name: 'link', isFolder: false },
        ],
      );
    }
    for (const [path, code] of Object.entries({ out: 'EXDEV', none: 'ENOENT', 'folder/file': 'ENOTDIR' }))
      await assert.rejects(fs.openDirectoryBeneath(`${root}/v`, path), { name: 'FileSystemError', code });
  });
}
