import assert from 'node:assert/strict';
import { test } from 'node:test';
import { invalidVolumesReason, MAX_VOLUMES } from './volume-paths.ts';

const rejected = [
  '/',
  '',
  '.',
  '//',
  '/x/..',
  '/proc',
  '/proc/',
  'proc',
  '/proc/self/fd',
  '/x/../proc/1',
  '/sys',
  '/sys/',
  '/dev',
  '/dev/.',
  'a\0b',
  `/${'x'.repeat(5000)}`,
];
const accepted = ['/data', '/data/', 'data', '/sys/fs/cgroup', '/dev/shm', '/process', '/var/proc', '/x/../data'];

test('invalidVolumesReason() rejects the root, /dev, /proc, /sys, and invalid paths', () => {
  for (const path of rejected) {
    assert.match(
      invalidVolumesReason(['/data', path]) ?? '',
      /^image declares a volume at ".*", which is not allowed$/,
      path,
    );
  }
  for (const path of accepted) assert.equal(invalidVolumesReason([path]), undefined, path);
});

test('invalidVolumesReason() limits their number', () => {
  const volumes = (count: number) => Array.from({ length: count }, (_, index) => `/v${index}`);
  assert.equal(invalidVolumesReason(volumes(MAX_VOLUMES)), undefined);
  assert.equal(invalidVolumesReason(volumes(MAX_VOLUMES + 1)), 'image declares 129 volumes, more than 128');
});
