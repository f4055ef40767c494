import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createMemoryHost } from '../../host/fake/memory-host.ts';
import { FileSystemError } from '../../host/file-system.ts';
import { asStartupError, checkDiskSpace } from './disk-space.ts';

const MIB = 2 ** 20;

function world(availableBytes: number, capacityBytes = 100 * MIB) {
  const { fs } = createMemoryHost();
  fs.setUsage('/', { capacityBytes, availableBytes, inodes: 100, inodesFree: 50 });
  return { fs, rootDir: '/var/lib/nodelet', stateDir: '/run/nodelet' };
}

const TOO_SMALL = {
  name: 'StartupError',
  message: 'the disk of /var/lib/nodelet has too little space: the runtime needs 16.0 MiB, and 3.0 MiB are free',
};

test('checkDiskSpace() rejects a new root on a disk that is too small', async () => {
  await assert.rejects(checkDiskSpace(world(3 * MIB)), TOO_SMALL);
  await checkDiskSpace(world(16 * MIB));
  await checkDiskSpace(world(0, 0));
});

test('checkDiskSpace() accepts a root of a previous process on a full disk', async () => {
  const used = world(0);
  await used.fs.makeDirectory('/var/lib/nodelet/runtime/containers');
  await checkDiskSpace(used);
});

test('asStartupError() names the disk and both sizes, and returns other errors unchanged', async () => {
  const parts = world(3 * MIB);
  const full = new FileSystemError('ENOSPC', 'write', '/var/lib/nodelet/runtime/x');
  const failure = await asStartupError(full, parts);
  assert.ok(failure instanceof Error);
  assert.deepEqual({ name: failure.name, message: failure.message }, TOO_SMALL);
  const other = new FileSystemError('EIO', 'write', '/var/lib/nodelet/runtime/x');
  assert.equal(await asStartupError(other, parts), other);
});
