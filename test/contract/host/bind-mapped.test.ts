/** The contract of mounts with mapped ids. */
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { createMemoryHost } from '../../../src/host/fake/memory-host.ts';
import { MountError } from '../../../src/host/mounts.ts';
import { linuxMountsWorld, type MountsWorld } from './mounts-world.ts';
import { needsMounts } from './temporary-folder.ts';

const ID_MAP = {
  uids: [{ containerId: 0, hostId: 100_000, length: 1000 }],
  gids: [{ containerId: 0, hostId: 200_000, length: 1000 }],
};

bindMappedContract('memory', async () => {
  const { fs, mounts } = createMemoryHost();
  await fs.makeDirectory('/data');
  return { fs, mounts, root: '/data' };
});
bindMappedContract('linux', linuxMountsWorld, needsMounts);

function bindMappedContract(
  name: string,
  make: (t: TestContext) => Promise<MountsWorld>,
  skip: string | false = false,
): void {
  test(`${name} mounts: a folder shows mapped ids, and the old ones without the mount`, { skip }, async (t) => {
    const { fs, mounts, root } = await make(t);
    await fs.makeDirectory(`${root}/source`);
    await fs.writeFile(`${root}/source/file`, 'content');
    await fs.changeOwner(`${root}/source/file`, 7, 8);
    if (await cannotMap(() => mounts.bindMapped(`${root}/source`, `${root}/target`, ID_MAP), t)) return;
    assert.equal(await fs.readText(`${root}/target/file`), 'content');
    const owner = async (path: string) => {
      const { uid, gid } = (await fs.stat(path)) ?? {};
      return { uid, gid };
    };
    assert.deepEqual(await owner(`${root}/target`), { uid: 100_000, gid: 200_000 });
    assert.deepEqual(await owner(`${root}/target/file`), { uid: 100_007, gid: 200_008 });
    assert.deepEqual(await owner(`${root}/source/file`), { uid: 7, gid: 8 });
    await mounts.unmount(`${root}/target`);
    assert.deepEqual(await fs.readDirectory(`${root}/target`), []);
  });

  test(`${name} mounts: mounts below are included, and stay when the mapped one is unmounted`, { skip }, async (t) => {
    const { fs, mounts, root } = await make(t);
    await fs.makeDirectory(`${root}/source/below`);
    await mounts.mount({ source: `${root}/source`, target: `${root}/source`, flags: ['bind'] });
    await mounts.mount({ source: root, target: `${root}/source`, flags: ['rshared'] });
    await mounts.mount({ source: 'tmpfs', target: `${root}/source/below`, type: 'tmpfs', data: 'mode=0755' });
    await fs.writeFile(`${root}/source/below/file`, 'content');
    if (await cannotMap(() => mounts.bindMapped(`${root}/source`, `${root}/target`, ID_MAP), t)) return;
    if ((await fs.stat(`${root}/target/below/file`)) === undefined) return t.skip('this kernel does not map a tmpfs');
    assert.equal((await fs.stat(`${root}/target/below/file`))?.uid, 100_000);
    await mounts.unmount(`${root}/target`, { lazy: true });
    assert.equal(await fs.readText(`${root}/source/below/file`), 'content');
  });

  test(`${name} mounts: a file shows mapped ids too`, { skip }, async (t) => {
    const { fs, mounts, root } = await make(t);
    await fs.writeFile(`${root}/source`, 'content');
    if (await cannotMap(() => mounts.bindMapped(`${root}/source`, `${root}/target`, ID_MAP), t)) return;
    assert.equal(await fs.readText(`${root}/target`), 'content');
    assert.equal((await fs.stat(`${root}/target`))?.uid, 100_000);
    await mounts.unmount(`${root}/target`);
    assert.equal(await fs.readText(`${root}/target`), '');
  });

  test(`${name} mounts: a missing source cannot be mapped`, { skip }, async (t) => {
    const { mounts, root } = await make(t);
    await assert.rejects(mounts.bindMapped(`${root}/none`, `${root}/target`, ID_MAP), {
      name: 'MountError',
      code: 'ENOENT',
    });
  });
}

/** Skips the test where the kernel or the filesystem does not support it. */
async function cannotMap(work: () => Promise<void>, t: TestContext): Promise<boolean> {
  try {
    await work();
    return false;
  } catch (error) {
    if (!(error instanceof MountError) || error.code !== 'EINVAL') throw error;
    t.skip('this file system has no mapped mounts');
    return true;
  }
}
