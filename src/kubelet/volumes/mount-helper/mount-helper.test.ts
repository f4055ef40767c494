import assert from 'node:assert/strict';
import test from 'node:test';
import type { MountEntry } from '../../../host/mounts.ts';
import { mountReferences } from './bind-mount.ts';
import { parseBlkid } from './format-and-mount.ts';
import { joinMountOptions, mountOptionsOf } from './mount-options.ts';

function entry(target: string, device: string, root = '/'): MountEntry {
  return { source: 'x', target, type: 'ext4', readOnly: false, device, root, propagation: 'shared' };
}

const table = [
  entry('/', '8:1'),
  entry('/mnt/disk', '8:16'),
  entry('/k/pods/u1/volumes/a', '8:16'),
  entry('/k/pods/u2/volumes/b', '8:1', '/srv/data'),
  entry('/k/pods/u3/volumes/c', '8:16', '/folder'),
];
const references: Record<string, readonly string[]> = {
  '/mnt/disk': ['/k/pods/u1/volumes/a'],
  '/mnt/disk/folder': ['/k/pods/u3/volumes/c'],
  '/srv/data': ['/k/pods/u2/volumes/b'],
  '/srv/data2': [],
  '/k/pods/u1/volumes/a': ['/mnt/disk'],
};
for (const [path, expected] of Object.entries(references)) {
  test(`mountReferences() of ${path}`, () => assert.deepEqual(mountReferences(table, path), expected));
}

test('parseBlkid() names the file system, or says that there are partitions', () => {
  assert.equal(parseBlkid('DEVNAME=/dev/sdb\nTYPE=xfs\n'), 'xfs');
  assert.equal(parseBlkid('TYPE=ext4\nPTTYPE=dos\n'), 'unknown data, probably partitions');
  assert.throws(() => parseBlkid('TYPE'), { message: 'blkid returns invalid output: TYPE' });
});

test('the options of a volume are those of its annotation, else of its spec, in order and once', () => {
  const annotations = { 'volume.beta.kubernetes.io/mount-options': 'ro,soft' };
  const spec = { mountOptions: ['hard', 'hard', ''] };
  assert.deepEqual(mountOptionsOf({ metadata: { name: 'pv', annotations }, spec }), ['ro', 'soft']);
  const own = mountOptionsOf({ metadata: { name: 'pv' }, spec });
  assert.deepEqual(joinMountOptions(own, ['bind']), ['bind', 'hard']);
  assert.deepEqual(mountOptionsOf(undefined), []);
});
