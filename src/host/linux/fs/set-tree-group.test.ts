import assert from 'node:assert/strict';
import test from 'node:test';
import { setTreeGroup } from './set-tree-group.ts';

/** procfs lets root change neither mode nor group of these files. */
const UNCHANGEABLE = '/proc/self/attr';

test('setTreeGroup rejects when a file cannot be changed', async () => {
  const access = { gid: 0, fileMode: 0o440, folderMode: 0o2550 };
  await assert.rejects(setTreeGroup(UNCHANGEABLE, access), { code: 'EPERM' });
});

test('setTreeGroup skips files that cannot be changed, if it should, and counts them', async () => {
  let count = 0;
  const onProgress = (files: number): void => {
    count = files;
  };
  await setTreeGroup(UNCHANGEABLE, { gid: 0, fileMode: 0o440, folderMode: 0o2550, skipsErrors: true, onProgress });
  assert.ok(count > 3, `${count} files`);
});
