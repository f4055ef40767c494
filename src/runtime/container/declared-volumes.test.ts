import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createMemoryHost } from '../../host/fake/memory-host.ts';
import { makeDeclaredVolumes } from './declared-volumes.ts';

const signal = new AbortController().signal;

async function image() {
  const { fs, mounts } = createMemoryHost();
  await fs.makeDirectory('/b/rootfs/run/data');
  await fs.makeDirectory('/b/rootfs/var');
  await fs.symbolicLink('/run', '/b/rootfs/var/run');
  await fs.symbolicLink('../../../../etc', '/b/rootfs/out');
  return { fs, mounts };
}

test('makeDeclaredVolumes() binds directories of the root filesystem, and creates missing ones', async () => {
  const { fs, mounts } = await image();
  const idMap = {
    uids: [{ containerId: 0, hostId: 70000, length: 65536 }],
    gids: [{ containerId: 0, hostId: 80000, length: 65536 }],
  };
  const volumes = [
    { containerPath: '/var/run/data', hostPath: '/b/declared/0' },
    { containerPath: '/db', hostPath: '/b/declared/1' },
    { containerPath: '/out/x', hostPath: '/b/declared/2' },
  ];
  await makeDeclaredVolumes(volumes, '/b/rootfs', idMap, { fs, mounts }, signal);
  for (const [place, folder] of Object.entries({ 0: 'run/data', 1: 'db', 2: 'etc/x' })) {
    await fs.writeFile(`/b/declared/${place}/file`, place);
    assert.equal(await fs.readText(`/b/rootfs/${folder}/file`), place);
  }
  const owner = async (path: string) => [(await fs.stat(path))?.uid, (await fs.stat(path))?.gid];
  assert.deepEqual(await owner('/b/rootfs/db'), [70000, 80000]);
  assert.deepEqual(await owner('/b/rootfs/run/data'), [0, 0]);
});

test('makeDeclaredVolumes() rejects links to the root, /dev, /proc and /sys', async () => {
  const { fs, mounts } = await image();
  await fs.makeDirectory('/b/rootfs/proc');
  for (const [index, target] of ['/', '/proc', '/proc/self', '../sys', '/dev'].entries()) {
    const name = `/b/rootfs/link${index}`;
    await fs.symbolicLink(target, name);
    const volumes = [{ containerPath: `/link${index}`, hostPath: '/b/declared/0' }];
    await assert.rejects(makeDeclaredVolumes(volumes, '/b/rootfs', undefined, { fs, mounts }, signal), {
      message: /^image: volume "\/link\d" resolves to \/\S*, which cannot be a volume$/,
    });
  }
});

test('makeDeclaredVolumes() stops when the signal aborts', async () => {
  const { fs, mounts } = await image();
  const volumes = [{ containerPath: '/db', hostPath: '/b/declared/0' }];
  const aborted = AbortSignal.abort(new Error('enough'));
  await assert.rejects(makeDeclaredVolumes(volumes, '/b/rootfs', undefined, { fs, mounts }, aborted), {
    message: 'enough',
  });
  assert.equal(await fs.stat('/b/declared/0'), undefined);
});
