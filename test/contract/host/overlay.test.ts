/** The contract of overlay mounts. */
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { createMemoryHost } from '../../../src/host/fake/memory-host.ts';
import { linuxMountsWorld, type MountsWorld } from './mounts-world.ts';
import { needsMounts } from './temporary-folder.ts';

overlayContract('memory', async () => {
  const { fs, mounts } = createMemoryHost();
  return { fs, mounts, root: '/data' };
});
overlayContract('linux', linuxMountsWorld, needsMounts);

function overlayContract(
  name: string,
  make: (t: TestContext) => Promise<MountsWorld>,
  skip: string | false = false,
): void {
  const node = { mode: 0o644, uid: 0, gid: 0, modifiedMs: 0 };

  async function layers({
    fs,
    root,
  }: MountsWorld): Promise<{ lower: string[]; upper: { folder: string; work: string } }> {
    for (const folder of ['l/low/a', 'l/low/hidden', 'l/high/a', 'l/high/hidden', 'up', 'work', 'm']) {
      await fs.makeDirectory(`${root}/${folder}`);
    }
    for (const file of ['low/a/one', 'low/a/two', 'low/hidden/old', 'high/a/two', 'high/hidden/new']) {
      await fs.writeFile(`${root}/l/${file}`, file);
    }
    await using high = await fs.writeTree(`${root}/l/high`);
    await high.put('a/one', { ...node, kind: 'characterDevice', major: 0, minor: 0 });
    await high.setXattr('hidden', 'trusted.overlay.opaque', new TextEncoder().encode('y'));
    return {
      lower: [`${root}/l/high`, `${root}/l/low`],
      upper: { folder: `${root}/up`, work: `${root}/work` },
    };
  }

  test(`${name} overlay: the uppermost layer wins, whiteouts hide, changes do not reach lower layers`, {
    skip,
  }, async (t) => {
    const world = await make(t);
    const { fs, mounts, root } = world;
    await mounts.mountOverlay({ ...(await layers(world)), target: `${root}/m` });
    assert.deepEqual(await fs.readDirectory(`${root}/m/a`), [{ name: 'two', kind: 'file' }]);
    assert.deepEqual(await fs.readDirectory(`${root}/m/hidden`), [{ name: 'new', kind: 'file' }]);
    assert.equal(await fs.readText(`${root}/m/a/two`), 'high/a/two');
    await fs.writeFile(`${root}/m/a/two`, 'changed');
    assert.equal(await fs.readText(`${root}/m/a/two`), 'changed');
    assert.equal(await fs.readText(`${root}/l/high/a/two`), 'high/a/two');
    await mounts.unmount(`${root}/m`);
    assert.deepEqual(await fs.readDirectory(`${root}/m`), []);
  });

  test(`${name} overlay: without an upper folder the mount is read-only`, { skip }, async (t) => {
    const world = await make(t);
    const { fs, mounts, root } = world;
    const { lower } = await layers(world);
    await mounts.mountOverlay({ lower, target: `${root}/m` });
    await assert.rejects(fs.writeFile(`${root}/m/a/two`, ''), { code: 'EROFS' });
  });

  test(`${name} overlay: lower files are shown with mapped ids`, { skip }, async (t) => {
    const world = await make(t);
    const { fs, mounts, root } = world;
    const stack = await layers(world);
    await fs.changeOwner(`${root}/l/high/a/two`, 5, 7);
    const range = { containerId: 0, hostId: 100_000, length: 1000 };
    const idMap = { uids: [range], gids: [{ ...range, hostId: 200_000 }] };
    await mounts.mountOverlay({ ...stack, target: `${root}/m`, idMap, scratch: root });
    const shown = await fs.stat(`${root}/m/a/two`);
    assert.deepEqual([shown?.uid, shown?.gid], [100_005, 200_007]);
    assert.equal((await fs.stat(`${root}/l/high/a/two`))?.uid, 5);
  });

  test(`${name} overlay: 120 layers with long and odd names fit`, { skip }, async (t) => {
    const { fs, mounts, root } = await make(t);
    const parent = `${root}/a,b:c\\d`;
    const lower = Array.from({ length: 120 }, (_, index) => `${parent}/${'x'.repeat(60)}${index}`);
    for (const [index, folder] of lower.entries()) {
      await fs.makeDirectory(folder);
      await fs.writeFile(`${folder}/${index}`, '');
    }
    await fs.makeDirectory(`${root}/m`);
    await mounts.mountOverlay({ lower, target: `${root}/m` });
    assert.equal((await fs.readDirectory(`${root}/m`)).length, 120);
    await mounts.unmount(`${root}/m`);
    const range = { containerId: 0, hostId: 1000, length: 10 };
    await mounts.mountOverlay({ lower, target: `${root}/m`, idMap: { uids: [range], gids: [range] }, scratch: root });
    assert.equal((await fs.stat(`${root}/m/119`))?.uid, 1000);
    await mounts.unmount(`${root}/m`);
    await fs.makeDirectory(`${root}/n`);
    await mounts.mountOverlay({ lower: lower.slice(0, 2), target: `${root}/n` });
    assert.equal((await fs.readDirectory(`${root}/n`)).length, 2);
  });

  test(`${name} overlay: errors have the errno name and the target`, { skip }, async (t) => {
    const world = await make(t);
    const { mounts, root } = world;
    const { lower } = await layers(world);
    const target = `${root}/none`;
    await assert.rejects(mounts.mountOverlay({ lower, target }), { name: 'MountError', code: 'ENOENT', target });
    const missing = { lower: [`${root}/l/none`], target: `${root}/m` };
    await assert.rejects(mounts.mountOverlay(missing), { name: 'MountError', code: 'ENOENT' });
  });
}
