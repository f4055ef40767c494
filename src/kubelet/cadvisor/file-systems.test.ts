import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { MountEntry } from '../../host/mounts.ts';
import { parseDiskStats } from './disk-counters.ts';
import { deviceOfPath, machineMounts, readFileSystems, readLayerFileSystems } from './file-systems.ts';

const ID = 'a'.repeat(64);

function mount(type: string, source: string, target: string, device = '8:1'): MountEntry {
  return { type, source, target, device, readOnly: false, root: '/', propagation: 'private' };
}

const cases: Record<string, { mounts: readonly MountEntry[]; devices: readonly string[] }> = {
  'a disk once, wherever it is mounted': {
    mounts: [mount('ext4', '/dev/sda1', '/data'), mount('ext4', '/dev/sda1', '/data/bind')],
    devices: ['/dev/sda1'],
  },
  'the root of any type': { mounts: [mount('overlay', 'overlay', '/')], devices: ['overlay'] },
  'each tmpfs by its mount point': {
    mounts: [mount('tmpfs', 'tmpfs', '/run'), mount('tmpfs', 'tmpfs', '/tmp')],
    devices: ['/run', '/tmp'],
  },
  'no file systems of the kernel or the network': {
    mounts: [
      mount('proc', 'proc', '/proc'),
      mount('cgroup2', 'cgroup', '/sys/fs/cgroup'),
      mount('nfs4', 'h:/x', '/nfs'),
    ],
    devices: [],
  },
  'nothing of pods and containers': {
    mounts: [
      mount('tmpfs', 'tmpfs', '/var/lib/kubelet/pods/u/volumes/x'),
      mount('tmpfs', 'shm', `/run/containerd/sandboxes/${ID}/shm`),
      mount('tmpfs', 'tmpfs', '/other/pods/u/volumes/kubernetes.io~secret/s'),
      mount('overlay', 'overlay', `/run/containerd/${ID}/rootfs`),
    ],
    devices: [],
  },
};

for (const [name, { mounts, devices }] of Object.entries(cases)) {
  test(`file systems of the machine: ${name}`, () => {
    const found = machineMounts(mounts, '/var/lib/kubelet');
    assert.deepEqual(
      found.map(({ device }) => device),
      devices,
    );
  });
}

test('the device of a path is that of the nearest mount above it', () => {
  const mounts = [
    mount('ext4', '/dev/sda1', '/'),
    mount('xfs', '/dev/sdb', '/var/lib/x'),
    mount('ext4', 'c', '/var/l'),
  ];
  assert.deepEqual(
    ['/var/lib/x/y', '/var/lib/x', '/var/lib', '/'].map((path) => deviceOfPath(mounts, path)),
    ['/dev/sdb', '/dev/sdb', '/dev/sda1', '/dev/sda1'],
  );
});

test('a file system has the counters of its disk, and none that cannot be read is shown', async () => {
  const disks = parseDiskStats('   8       1 sda1 40 1 280 223 7 2 22 108 0 330 331 0 0 0 0\n');
  const usage = { capacityBytes: 10, availableBytes: 5, usedBytes: 4, inodes: 3, inodesFree: 2 };
  const fs = {
    usage: async (path: string) => (path === '/gone' ? Promise.reject(new Error('ENOENT')) : usage),
  };
  const mounts = machineMounts(
    [mount('ext4', '/dev/sda1', '/'), mount('xfs', '/dev/sdb', '/gone', '8:16'), mount('tmpfs', 't', '/run', '0:5')],
    '/k',
  );
  const found = await readFileSystems(mounts, disks, fs);
  assert.deepEqual(
    found.map(({ device, usedBytes, counters }) => [device, usedBytes, counters?.reads, counters?.weightedMs]),
    [
      ['/dev/sda1', 4, 40, 331],
      ['/run', 4, undefined, undefined],
    ],
  );
});

test('a writable layer has the size of its file system and the inodes that it uses itself', async () => {
  const usage = { capacityBytes: 10, availableBytes: 5, usedBytes: 4, inodes: 3_000_000, inodesFree: 2_000_000 };
  const layers = new Map([
    ['c1', { time: '', mountpoint: '/var/lib', usedBytes: 2, inodesUsed: 7 }],
    ['not measured', { time: '', mountpoint: '/var/lib' }],
  ]);
  const found = await readLayerFileSystems(layers, [mount('ext4', '/dev/sda1', '/')], { usage: async () => usage });
  assert.deepEqual(
    [...found],
    [['c1', { device: '/dev/sda1', capacityBytes: 10, usedBytes: 2, inodes: 7, inodesFree: 0 }]],
  );
});
