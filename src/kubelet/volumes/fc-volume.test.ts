import assert from 'node:assert/strict';
import test from 'node:test';
import { claimPod, persistentMachine } from '../../../test/agent/persistent-machine.ts';
import type { FCVolumeSource } from '../../api/generated/core-v1.ts';

const signal = new AbortController().signal;
const FC: FCVolumeSource = { targetWWNs: ['500a0981891b8dc5', '500a0982991b8dc5'], lun: 2 };
const NODE = '/k/plugins/kubernetes.io/fc/500a0981891b8dc5-500a0982991b8dc5-lun-2';
const PATH = '/k/pods/u1/volumes/kubernetes.io~fc/pv';
const LINK = '/dev/disk/by-path/pci-0000:41:00.0-fc-0x500a0982991b8dc5-lun-2';

async function machine(fc: FCVolumeSource = FC) {
  const world = await persistentMachine({ fc });
  const { fs, mounts, install } = world;
  await fs.makeDirectory('/dev/disk/by-path');
  await fs.makeDirectory('/dev/disk/by-id');
  fs.createDevice('/dev/sdb', 'blockDevice', { major: 8, minor: 16 });
  fs.createDevice('/dev/dm-0', 'blockDevice', { major: 253, minor: 0 });
  await fs.makeDirectory('/sys/class/scsi_host/host1');
  await fs.makeDirectory('/sys/block/sdb/device');
  install('blkid', async () => 2);
  install('mkfs.ext4', async () => 0);
  install('blockdev', async () => 0);
  install('multipath', async () => 0);
  install('mount', async ({ args }) => {
    const [source = '', target = ''] = args.slice(-2);
    await mounts.mount({ source, target, type: 'ext4' });
    return 0;
  });
  return world;
}

test('a disk that appears after a scan is mounted for the node and the pod, and removed with its last pod', async () => {
  const { fs, clock, calls, targets, start } = await machine();
  const volumes = start();
  const prepared = volumes.prepare(claimPod('u1'), signal);
  await clock.advance(1);
  assert.equal(await fs.readText('/sys/class/scsi_host/host1/scan'), '- - -');
  await fs.symbolicLink('/dev/sdb', LINK);
  await clock.advance(1);
  await prepared;
  assert.deepEqual(await targets(), [NODE, PATH]);
  assert.equal(calls.at(-1), `mount -t ext4 -o defaults /dev/sdb ${NODE}`);
  await start().release(claimPod('u1'), signal);
  assert.deepEqual(await targets(), []);
  assert.equal(calls.at(-1), 'blockdev --flushbufs /dev/sdb');
  assert.equal(await fs.readText('/sys/block/sdb/device/delete'), '1');
});

test('a disk with several paths is used by its multipath map', async () => {
  const { fs, calls, start } = await machine({ wwids: ['3600508b4 0001'] });
  await fs.symbolicLink('/dev/sdb', '/dev/disk/by-id/scsi-3600508b4_0001');
  await fs.makeDirectory('/sys/block/dm-0/slaves/sdb');
  const volumes = start();
  await volumes.prepare(claimPod('u1'), signal);
  assert.equal(calls.at(-1), 'mount -t ext4 -o defaults /dev/dm-0 /k/plugins/kubernetes.io/fc/3600508b4_0001');
  await volumes.release(claimPod('u1'), signal);
  assert.deepEqual(calls.slice(-2), ['multipath -f /dev/dm-0', 'blockdev --flushbufs /dev/sdb']);
});

test('a disk that does not appear is reported, and its pod can be deleted', async () => {
  const { clock, targets, start } = await machine();
  const volumes = start();
  const prepared = assert.rejects(volumes.prepare(claimPod('u1'), signal), {
    reason: 'FailedMount',
    message: 'MountVolume.WaitForAttach failed for volume "pv" : no fc disk found',
  });
  await clock.advance(10_000);
  await prepared;
  await volumes.release(claimPod('u1'), signal);
  assert.deepEqual(await targets(), []);
});
