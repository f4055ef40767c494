import assert from 'node:assert/strict';
import { test } from 'node:test';
import { MAX_VOLUMES, invalidVolumesReason } from './volume-paths.ts';

const refused = [
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

test('volumesFault() refuses the root, /dev, /proc, /sys, and what is no path', () => {
  for (const path of refused) {
    assert.match(
      invalidVolumesReason(['/data', path]) ?? '',
      /^image declares a volume at ".*", where there cannot be one$/,
      path,
    );
  }
  for (const path of accepted) assert.equal(invalidVolumesReason([path]), undefined, path);
});

test('volumesFault() limits their number', () => {
  const volumes = (count: number) => Array.from({ length: count }, (_, index) => `/v${index}`);
  assert.equal(invalidVolumesReason(volumes(MAX_VOLUMES)), undefined);
  assert.equal(invalidVolumesReason(volumes(MAX_VOLUMES + 1)), 'image declares 129 volumes, more than 128');
});
