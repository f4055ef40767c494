/** The contract of mounts. */
import assert from 'node:assert/strict';
import { mkdir, rename, rm, symlink, unlink } from 'node:fs/promises';
import { type TestContext, test } from 'node:test';
import { createMemoryHost } from '../../../src/host/fake/memory-host.ts';
import { type MountEntry, MountError, type Mounts } from '../../../src/host/mounts.ts';
import { linuxMountsWorld, type MountsWorld } from './mounts-world.ts';
import { needsMounts } from './temporary-folder.ts';

mountsContract('linux', linuxMountsWorld, needsMounts);
mountsContract('memory', async () => {
  const { fs, mounts } = createMemoryHost();
  await fs.makeDirectory('/data');
  return { fs, mounts, root: '/data' };
});

/** The topmost mount at a path. */
async function mountAt(path: string, mounts: Mounts): Promise<MountEntry | undefined> {
  return (await mounts.list()).findLast(({ target }) => target === path);
}

function mountsContract(
  name: string,
  makeWorld: (t: TestContext) => Promise<MountsWorld>,
  skip: string | false = false,
): void {
  const targets = async ({ mounts, root }: MountsWorld): Promise<string[]> =>
    (await mounts.list())
      .filter(({ target }) => target.startsWith(root))
      .map(({ target }) => target.slice(root.length));

  test(`${name} mounts: a tmpfs hides the files below until it is unmounted`, { skip }, async (t) => {
    const world = await makeWorld(t);
    const { fs, mounts, root } = world;
    await fs.makeDirectory(`${root}/m`);
    await fs.writeFile(`${root}/m/below`, '');
    await mounts.mount({ source: 'tmpfs', target: `${root}/m`, type: 'tmpfs', data: 'size=1m,mode=0750' });
    assert.deepEqual(await fs.readDirectory(`${root}/m`), []);
    assert.equal((await fs.stat(`${root}/m`))?.mode, 0o750);
    assert.notEqual((await fs.stat(`${root}/m`))?.device, (await fs.stat(root))?.device);
    const entry = (await mounts.list()).find(({ target }) => target === `${root}/m`);
    const { device, propagation: _, ...rest } = entry ?? {};
    assert.deepEqual(rest, { source: 'tmpfs', target: `${root}/m`, type: 'tmpfs', readOnly: false, root: '/' });
    assert.notEqual(device, (await mountAt('/', mounts))?.device);

    await mounts.unmount(`${root}/m`);
    assert.deepEqual(await fs.readDirectory(`${root}/m`), [{ name: 'below', kind: 'file' }]);
    assert.deepEqual(await targets(world), []);
  });

  test(`${name} mounts: a bind mount keeps the attributes of its source beside its own`, { skip }, async (t) => {
    const { fs, mounts, root } = await makeWorld(t);
    for (const folder of ['source', 'first', 'second']) await fs.makeDirectory(`${root}/${folder}`);
    await mounts.mount({ source: `${root}/source`, target: `${root}/first`, flags: ['bind', 'readOnly'] });
    await mounts.mount({ source: `${root}/first`, target: `${root}/second`, flags: ['bind', 'noExec'] });
    assert.equal((await mountAt(`${root}/second`, mounts))?.readOnly, true);
  });

  test(`${name} mounts: the last of several mounts at one path is unmounted first`, { skip }, async (t) => {
    const world = await makeWorld(t);
    const { fs, mounts, root } = world;
    await fs.makeDirectory(`${root}/m`);
    for (const file of ['first', 'second']) {
      await mounts.mount({ source: 'tmpfs', target: `${root}/m`, type: 'tmpfs' });
      await fs.writeFile(`${root}/m/${file}`, '');
    }
    assert.deepEqual(await targets(world), ['/m', '/m']);
    await mounts.unmount(`${root}/m`);
    assert.deepEqual(await fs.readDirectory(`${root}/m`), [{ name: 'first', kind: 'file' }]);
  });

  test(`${name} mounts: a bind mount shows the same files, a read-only one rejects writes`, { skip }, async (t) => {
    const { fs, mounts, root } = await makeWorld(t);
    for (const folder of ['source', 'same', 'read-only']) await fs.makeDirectory(`${root}/${folder}`);
    await mounts.mount({ source: `${root}/source`, target: `${root}/same`, flags: ['bind'] });
    await mounts.mount({
      source: `${root}/source`,
      target: `${root}/read-only`,
      flags: ['bind', 'readOnly', 'private'],
    });
    await fs.writeFile(`${root}/same/file`, 'seen');
    assert.equal(await fs.readText(`${root}/read-only/file`), 'seen');
    await assert.rejects(fs.writeFile(`${root}/read-only/file`, ''), { name: 'FileSystemError', code: 'EROFS' });
    const entry = (await mounts.list()).find(({ target }) => target === `${root}/read-only`);
    assert.equal(entry?.readOnly, true);

    await mounts.mount({ source: '', target: `${root}/read-only`, flags: ['remount', 'bind'] });
    await fs.writeFile(`${root}/read-only/file`, 'changed');
    assert.equal(await fs.readText(`${root}/source/file`), 'changed');
  });

  test(`${name} mounts: a file can be bound to a file`, { skip }, async (t) => {
    const { fs, mounts, root } = await makeWorld(t);
    await fs.writeFile(`${root}/a`, 'a');
    await fs.writeFile(`${root}/b`, 'b');
    await mounts.mount({ source: `${root}/a`, target: `${root}/b`, flags: ['bind'] });
    assert.equal(await fs.readText(`${root}/b`), 'a');
    await assert.rejects(fs.removeTree(`${root}/b`), { code: 'EBUSY' });
    await mounts.unmount(`${root}/b`);
    assert.equal(await fs.readText(`${root}/b`), 'b');
  });

  test(`${name} mounts: errors have the errno name and the target`, { skip }, async (t) => {
    const { mounts, root } = await makeWorld(t);
    const target = `${root}/none`;
    const failure = { name: 'MountError', code: 'ENOENT', target };
    await assert.rejects(mounts.mount({ source: 'tmpfs', target, type: 'tmpfs' }), failure);
    await assert.rejects(mounts.mount({ source: `${root}/x`, target: root, flags: ['bind'] }), { code: 'ENOENT' });
    await assert.rejects(mounts.mount({ source: '', target: root, flags: ['remount', 'bind'] }), { code: 'EINVAL' });
  });

  test(`${name} mounts: unmounting without a mount is not an error`, { skip }, async (t) => {
    const { mounts, root } = await makeWorld(t);
    await mounts.unmount(root);
    await mounts.unmount(`${root}/none`);
  });

  test(`${name} mounts: a mount with another one on it is busy, except for a lazy unmount`, { skip }, async (t) => {
    const world = await makeWorld(t);
    const { fs, mounts, root } = world;
    await fs.makeDirectory(`${root}/m`);
    await mounts.mount({ source: 'tmpfs', target: `${root}/m`, type: 'tmpfs' });
    await fs.makeDirectory(`${root}/m/inner`);
    await mounts.mount({ source: 'tmpfs', target: `${root}/m/inner`, type: 'tmpfs' });
    await assert.rejects(mounts.unmount(`${root}/m`), { name: 'MountError', code: 'EBUSY' });
    assert.deepEqual(await targets(world), ['/m', '/m/inner']);
    await mounts.unmount(`${root}/m`, { lazy: true });
    assert.deepEqual(await targets(world), []);
  });

  test(`${name} mounts: a target with spaces and special characters is listed unescaped`, { skip }, async (t) => {
    const world = await makeWorld(t);
    const { fs, mounts, root } = world;
    const odd = '/a b\\c#ü';
    await fs.makeDirectory(root + odd);
    await mounts.mount({ source: 'tmpfs', target: root + odd, type: 'tmpfs' });
    assert.deepEqual(await targets(world), [odd]);
  });

  test(`${name} mounts: a target behind a link is listed by its real path, and unmounted by either path`, {
    skip,
  }, async (t) => {
    const world = await makeWorld(t);
    const { fs, mounts, root } = world;
    await fs.makeDirectory(`${root}/real/m`);
    await fs.symbolicLink('real', `${root}/link`);
    await mounts.mount({ source: 'tmpfs', target: `${root}/link/m`, type: 'tmpfs' });
    assert.deepEqual(await targets(world), ['/real/m']);
    await mounts.unmount(`${root}/link/m`);
    assert.deepEqual(await targets(world), []);
  });

  test(`${name} mounts: a bind mount is listed with the device and the path that it shows`, { skip }, async (t) => {
    const { fs, mounts, root } = await makeWorld(t);
    for (const folder of ['disk', 'bound', 'again']) await fs.makeDirectory(`${root}/${folder}`);
    await mounts.mount({ source: 'tmpfs', target: `${root}/disk`, type: 'tmpfs', data: 'size=1m' });
    await fs.makeDirectory(`${root}/disk/a/b`);
    await mounts.mount({ source: `${root}/disk/a`, target: `${root}/bound`, flags: ['bind'] });
    await mounts.mount({ source: `${root}/bound/b`, target: `${root}/again`, flags: ['bind'] });
    const device = (await mountAt(`${root}/disk`, mounts))?.device;
    const shown = await Promise.all(['disk', 'bound', 'again'].map((folder) => mountAt(`${root}/${folder}`, mounts)));
    assert.deepEqual(
      shown.map((entry) => [entry?.device, entry?.root]),
      [
        [device, '/'],
        [device, '/a'],
        [device, '/a/b'],
      ],
    );
  });

  test(`${name} mounts: propagation is listed, and new mounts inherit it`, { skip }, async (t) => {
    const { fs, mounts, root } = await makeWorld(t);
    const propagation = async (path: string) => (await mountAt(`${root}/${path}`, mounts))?.propagation;
    await fs.makeDirectory(`${root}/shared/disk`);
    await mounts.mount({ source: `${root}/shared`, target: `${root}/shared`, flags: ['bind', 'rshared'] });
    assert.equal(await propagation('shared'), 'shared');
    await mounts.mount({ source: 'tmpfs', target: `${root}/shared/disk`, type: 'tmpfs', data: 'size=1m' });
    assert.equal(await propagation('shared/disk'), 'shared');
    await mounts.mount({ source: 'none', target: `${root}/shared`, flags: ['private'] });
    assert.deepEqual([await propagation('shared'), await propagation('shared/disk')], ['private', 'shared']);
    await mounts.mount({ source: 'none', target: `${root}/shared`, flags: ['rshared'] });
    await mounts.mount({ source: 'none', target: `${root}/shared`, flags: ['rprivate'] });
    assert.deepEqual([await propagation('shared'), await propagation('shared/disk')], ['private', 'private']);
  });

  test(`${name} mounts: a path below a folder is bound, through links that stay inside`, { skip }, async (t) => {
    const { fs, mounts, root } = await makeWorld(t);
    await fs.makeDirectory(`${root}/v/a/b`);
    await fs.writeFile(`${root}/v/a/b/file`, 'seen');
    await fs.symbolicLink('a/../a', `${root}/v/link`);
    await fs.symbolicLink(`${root}/v/a`, `${root}/v/absolute`);
    for (const [index, path] of ['a/b', 'link/b', 'absolute/b', ''].entries()) {
      await mounts.bindBeneath(`${root}/v`, path, `${root}/t${index}`);
      assert.equal(await fs.readText(`${root}/t${index}/${path === '' ? 'a/b/' : ''}file`), 'seen');
    }
  });

  test(`${name} mounts: an existing bind mount is replaced only when it differs`, { skip }, async (t) => {
    const world = await makeWorld(t);
    const { fs, mounts, root } = world;
    await fs.makeDirectory(`${root}/v/folder`);
    await fs.writeFile(`${root}/v/old`, 'old');
    await fs.writeFile(`${root}/v/new`, 'new');
    await fs.symbolicLink('old', `${root}/v/link`);
    await mounts.bindBeneath(`${root}/v`, 'link', `${root}/t`);
    await mounts.bindBeneath(`${root}/v`, 'link', `${root}/t`);
    assert.equal(await fs.readText(`${root}/t`), 'old');
    await fs.remove(`${root}/v/link`);
    await fs.symbolicLink('new', `${root}/v/link`);
    await mounts.bindBeneath(`${root}/v`, 'link', `${root}/t`);
    assert.equal(await fs.readText(`${root}/t`), 'new');
    await mounts.bindBeneath(`${root}/v`, 'folder', `${root}/t`);
    assert.equal((await fs.stat(`${root}/t`))?.kind, 'directory');
    assert.deepEqual(await targets(world), ['/t']);
    assert.equal(await fs.readText(`${root}/v/new`), 'new');
  });

  const escapes: Record<string, { links: Record<string, string>; path: string; code?: string }> = {
    'a link to the root': { links: { out: '/' }, path: 'out' },
    'a link upwards': { links: { out: '../secret' }, path: 'out' },
    'a link through a link': { links: { one: 'two', two: '../secret' }, path: 'one' },
    'a link in a folder': { links: { 'folder/out': '../../secret' }, path: 'folder/out' },
    'a link to a folder whose name has the same prefix': { links: { out: '../volume-2' }, path: 'out' },
    'dots in the path': { links: {}, path: '../secret' },
    'a link to itself': { links: { loop: 'loop' }, path: 'loop', code: 'ELOOP' },
    nothing: { links: {}, path: 'none', code: 'ENOENT' },
    'a link to nothing': { links: { out: 'none' }, path: 'out', code: 'ENOENT' },
  };
  for (const [what, { links, path, code = 'EXDEV' }] of Object.entries(escapes)) {
    test(`${name} mounts: nothing is bound through ${what}`, { skip }, async (t) => {
      const world = await makeWorld(t);
      const { fs, mounts, root } = world;
      for (const folder of ['volume/folder', 'secret', 'volume-2']) await fs.makeDirectory(`${root}/${folder}`);
      for (const [link, to] of Object.entries(links)) await fs.symbolicLink(to, `${root}/volume/${link}`);
      const bound = mounts.bindBeneath(`${root}/volume`, path, `${root}/target`);
      await assert.rejects(bound, { name: 'MountError', code });
      assert.deepEqual(await targets(world), []);
    });
  }

  const below: Record<string, (world: MountsWorld) => Promise<void>> = {
    'another filesystem': ({ mounts, root }) =>
      mounts.mount({ source: 'tmpfs', target: `${root}/tree/a/m`, type: 'tmpfs' }),
    'a bind mount of the same filesystem': ({ mounts, root }) =>
      mounts.mount({ source: `${root}/kept`, target: `${root}/tree/a/m`, flags: ['bind'] }),
  };
  for (const [what, mount] of Object.entries(below)) {
    test(`${name} mounts: removing a tree stops at ${what}`, { skip }, async (t) => {
      const world = await makeWorld(t);
      const { fs, mounts, root } = world;
      for (const folder of ['kept', 'tree/a/m']) await fs.makeDirectory(`${root}/${folder}`);
      await mount(world);
      await fs.writeFile(`${root}/tree/a/m/file`, 'kept');
      for (const tree of ['tree', 'tree/a/m']) {
        await assert.rejects(fs.removeTree(`${root}/${tree}`), { name: 'FileSystemError', code: 'EBUSY' });
      }
      assert.equal(await fs.readText(`${root}/tree/a/m/file`), 'kept');
      await assert.rejects(fs.remove(`${root}/tree/a/m`), { code: 'EBUSY' });

      await mounts.unmount(`${root}/tree/a/m`);
      await fs.removeTree(`${root}/tree`);
      assert.deepEqual(await fs.readDirectory(root), [{ name: 'kept', kind: 'directory' }]);
    });
  }
}

test('linux mounts: swapping folders and links cannot bind anything else', { skip: needsMounts }, async (t) => {
  const { fs, mounts, root } = await linuxMountsWorld(t);
  for (const folder of ['volume/a/b', 'volume/safe/b', 'secret/b']) await fs.makeDirectory(`${root}/${folder}`);
  await fs.writeFile(`${root}/secret/b/secret`, '');
  const stop = new AbortController();
  const swapping = swap(`${root}/volume/a`, ['../secret', 'safe'], stop.signal);
  const target = `${root}/target`;
  for (let turn = 0; turn < 400; turn++) {
    try {
      await mounts.bindBeneath(`${root}/volume`, 'a/b', target);
      assert.equal(await fs.stat(`${target}/secret`), undefined, 'the folder outside was bound');
      await mounts.unmount(target);
    } catch (error) {
      assert.ok(error instanceof MountError, String(error));
    }
    await fs.makeDirectoryBeneath(`${root}/volume`, `a/new-${turn}`, 0o700).catch(() => undefined);
  }
  stop.abort();
  await swapping;
  await mounts.bindBeneath(`${root}/volume`, 'a/b', target);
  assert.deepEqual(await fs.readDirectory(`${root}/secret`), [{ name: 'b', kind: 'directory' }]);
});

/** Alternates between a folder and links to other paths, as fast as possible. */
async function swap(path: string, links: readonly string[], signal: AbortSignal): Promise<void> {
  const aside = `${path}.aside`;
  while (!signal.aborted) {
    for (const link of links) {
      try {
        await rename(path, aside);
        await symlink(link, path);
        await unlink(path);
        await rename(aside, path);
      } catch {
        // The tested code has created a folder meanwhile.
        // It may create another one in a folder that is being removed.
        for (const each of [path, aside]) await rm(each, { recursive: true, force: true, maxRetries: 100 });
        await mkdir(`${path}/b`, { recursive: true });
      }
    }
  }
}
