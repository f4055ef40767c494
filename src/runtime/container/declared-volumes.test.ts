import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createMemoryHost } from '../../host/fake/memory-host.ts';
import { makeDeclaredVolumes } from './declared-volumes.ts';

async function image() {
  const { fs } = createMemoryHost();
  await fs.makeDirectory('/b/rootfs/run/data');
  await fs.makeDirectory('/b/rootfs/var');
  await fs.symbolicLink('/run', '/b/rootfs/var/run');
  await fs.symbolicLink('../../../../etc', '/b/rootfs/out');
  return fs;
}

test('makeDeclaredVolumes() links to folders of the root file system, and makes those that are missing', async () => {
  const fs = await image();
  const idMap = {
    uids: [{ containerId: 0, hostId: 70000, length: 65536 }],
    gids: [{ containerId: 0, hostId: 80000, length: 65536 }],
  };
  const volumes = [
    { containerPath: '/var/run/data', hostPath: '/b/declared/0' },
    { containerPath: '/db', hostPath: '/b/declared/1' },
    { containerPath: '/out/x', hostPath: '/b/declared/2' },
  ];
  await makeDeclaredVolumes(volumes, '/b/rootfs', idMap, fs);
  assert.equal(await fs.readLink('/b/declared/0'), '/b/rootfs/run/data');
  assert.equal(await fs.readLink('/b/declared/1'), '/b/rootfs/db');
  assert.equal(await fs.readLink('/b/declared/2'), '/b/rootfs/etc/x');
  const owner = async (path: string) => [(await fs.stat(path))?.uid, (await fs.stat(path))?.gid];
  assert.deepEqual(await owner('/b/rootfs/db'), [70000, 80000]);
  assert.deepEqual(await owner('/b/rootfs/run/data'), [0, 0]);
});
