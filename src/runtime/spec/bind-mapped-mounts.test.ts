import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createMemoryHost } from '../../host/fake/memory-host.ts';
import type { MountIdMap } from '../../host/mounts.ts';
import { bindMappedMounts } from './bind-mapped-mounts.ts';
import { containerConfig } from './testing/valid-request.ts';

const ids = [{ containerId: 0, hostId: 9, length: 5 }];
const others = [{ containerId: 0, hostId: 90, length: 5 }];
const users = { user: { path: '/ns/user', idMap: { uids: ids, gids: ids } } };
const config = containerConfig({
  mounts: [
    { containerPath: '/plain', hostPath: '/a' },
    { containerPath: '/image', image: { image: 'x' }, uidMappings: ids, gidMappings: ids },
    { containerPath: '/mapped', hostPath: '/srv/missing', uidMappings: ids, gidMappings: ids },
    { containerPath: '/other', hostPath: '/srv/missing', uidMappings: others, gidMappings: others },
  ],
});

test('bindMappedMounts() binds mounts with mappings, with the user namespace of the sandbox if it has the same map', async () => {
  const { fs, mounts } = createMemoryHost();
  const maps: MountIdMap[] = [];
  const recording = Object.create(mounts, {
    bindMapped: {
      value: (source: string, target: string, idMap: MountIdMap) => {
        maps.push(idMap);
        return mounts.bindMapped(source, target, idMap);
      },
    },
  }) as typeof mounts;
  const bound = await bindMappedMounts({ container: config, namespaces: users }, '/b/mapped', {
    fs,
    mounts: recording,
  });
  assert.deepEqual(
    [...bound],
    [
      [2, '/b/mapped/2'],
      [3, '/b/mapped/3'],
    ],
  );
  assert.deepEqual(maps, [
    { uids: ids, gids: ids, userNamespacePath: '/ns/user' },
    { uids: others, gids: others },
  ]);
  assert.equal((await fs.stat('/b/mapped/3'))?.uid, 90);
});

test('bindMappedMounts() creates nothing without mappings', async () => {
  const { fs, mounts } = createMemoryHost();
  const container = containerConfig({ mounts: [{ containerPath: '/plain', hostPath: '/a' }] });
  assert.equal((await bindMappedMounts({ container, namespaces: {} }, '/b/mapped', { fs, mounts })).size, 0);
  assert.equal(await fs.stat('/b/mapped'), undefined);
});

test('bindMappedMounts() names the mount that cannot be mapped', async () => {
  const { fs, mounts } = createMemoryHost();
  mounts.errors.failNext('mount', 'EINVAL');
  await assert.rejects(bindMappedMounts({ container: config, namespaces: users }, '/b/mapped', { fs, mounts }), {
    code: 'InvalidArgument',
    message: 'mounts[2].uidMappings: the file system of /srv/missing does not support idmapped mounts',
  });
});
