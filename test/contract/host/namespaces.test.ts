/** The contract of namespaces. */
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { createMemoryHost } from '../../../src/host/fake/memory-host.ts';
import { createLinuxNamespaces } from '../../../src/host/linux/namespace/linux-namespaces.ts';
import type { Namespaces } from '../../../src/host/namespaces.ts';
import { linuxMountsWorld, type MountsWorld } from './mounts-world.ts';
import { needsMounts } from './temporary-folder.ts';

interface NamespacesWorld extends MountsWorld {
  readonly namespaces: Namespaces;
  /** Makes the sysctl fail in the next `create`. */
  readonly failSysctl: (path: string) => void;
}

const linuxNamespaces = createLinuxNamespaces();

namespacesContract(
  'linux',
  async (t) => {
    return { ...(await linuxMountsWorld(t)), namespaces: linuxNamespaces, failSysctl: () => {} };
  },
  needsMounts,
);
namespacesContract('memory', async () => {
  const { fs, mounts, namespaces } = createMemoryHost();
  await fs.makeDirectory('/data');
  return {
    fs,
    mounts,
    namespaces,
    root: '/data',
    failSysctl: (path) => namespaces.errors.failNext('sysctl', 'ENOENT', path),
  };
});

function namespacesContract(
  name: string,
  makeWorld: (t: TestContext) => Promise<NamespacesWorld>,
  skip: string | false = false,
): void {
  const pinned = async ({ mounts, root }: NamespacesWorld): Promise<string[]> =>
    (await mounts.list())
      .filter(({ target, type }) => target.startsWith(root) && type === 'nsfs')
      .map(({ target }) => target.slice(root.length + 1))
      .sort();

  test(`${name} namespaces: requested namespaces are pinned by their files until they are removed`, {
    skip,
  }, async (t) => {
    const world = await makeWorld(t);
    const { fs, namespaces, root } = world;
    await namespaces.warmUp();
    const files = { network: `${root}/net`, ipc: `${root}/ipc`, uts: `${root}/uts` };
    await namespaces.create({ files, hostname: 'pod', sysctls: [['net/ipv4/ip_forward', '1']] });
    assert.deepEqual(await pinned(world), ['ipc', 'net', 'uts']);
    await assert.rejects(fs.removeTree(root), { code: 'EBUSY' });
    await namespaces.remove(Object.values(files));
    assert.deepEqual([await pinned(world), await fs.readDirectory(root)], [[], []]);
  });

  test(`${name} namespaces: many at once, of one kind each`, { skip }, async (t) => {
    const world = await makeWorld(t);
    const kinds = ['network', 'ipc', 'uts', 'network'] as const;
    await Promise.all(kinds.map((kind, i) => world.namespaces.create({ files: { [kind]: `${world.root}/${i}` } })));
    assert.deepEqual(await pinned(world), ['0', '1', '2', '3']);
  });

  test(`${name} namespaces: namespaces of a process are pinned`, { skip }, async (t) => {
    const world = await makeWorld(t);
    const { namespaces, root } = world;
    const files = {
      network: `${root}/net`,
      ipc: `${root}/ipc`,
      uts: `${root}/uts`,
      pid: `${root}/pid`,
      user: `${root}/user`,
    };
    await namespaces.pin(process.pid, files);
    assert.deepEqual(await pinned(world), ['ipc', 'net', 'pid', 'user', 'uts']);
    await namespaces.remove(Object.values(files));
    assert.deepEqual(await pinned(world), []);
  });

  test(`${name} namespaces: the error has the failed sysctl, and nothing is left`, { skip }, async (t) => {
    const world = await makeWorld(t);
    world.failSysctl('net/none');
    const files = { network: `${world.root}/net`, ipc: `${world.root}/ipc` };
    const failure = { name: 'NamespaceError', code: 'ENOENT', sysctl: 'net/none' };
    await assert.rejects(world.namespaces.create({ files, sysctls: [['net/none', '1']] }), failure);
    assert.deepEqual([await pinned(world), await world.fs.readDirectory(world.root)], [[], []]);
  });

  const inTheWay: Record<string, { ipc: string; code: string }> = {
    'a file that exists already': { ipc: 'taken', code: 'EEXIST' },
    'a missing folder': { ipc: 'none/ipc', code: 'ENOENT' },
  };
  for (const [what, { ipc, code }] of Object.entries(inTheWay)) {
    test(`${name} namespaces: nothing is left after an error for ${what}`, { skip }, async (t) => {
      const world = await makeWorld(t);
      const { fs, namespaces, root } = world;
      await fs.writeFile(`${root}/taken`, '');
      const files = { network: `${root}/net`, ipc: `${root}/${ipc}` };
      await assert.rejects(namespaces.create({ files }), { name: 'NamespaceError', code });
      await assert.rejects(namespaces.pin(process.pid, files), { name: 'NamespaceError', code });
      assert.deepEqual([await pinned(world), (await fs.readDirectory(root)).length], [[], 1]);
    });
  }

  test(`${name} namespaces: files without a namespace, and missing ones, are removed without an error`, {
    skip,
  }, async (t) => {
    const { fs, namespaces, root } = await makeWorld(t);
    await fs.writeFile(`${root}/empty`, '');
    await namespaces.remove([`${root}/empty`, `${root}/none`, `${root}/no/folder`]);
    assert.deepEqual(await fs.readDirectory(root), []);
  });
}
