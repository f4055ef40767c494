import assert from 'node:assert/strict';
import { test } from 'node:test';
import { cgroupFolder, isScopePath } from './scope-path.ts';

const folders: Record<string, { readonly folder: string; readonly isScope: boolean }> = {
  '/kubepods/burstable/pod1/c1': { folder: '/kubepods/burstable/pod1/c1', isScope: false },
  'relative/c1': { folder: '/relative/c1', isScope: false },
  'system.slice:cri-nodelet:c1': { folder: '/system.slice/cri-nodelet-c1.scope', isScope: true },
  'kubepods-burstable-pod1_2.slice:cri-nodelet:c1': {
    folder: '/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod1_2.slice/cri-nodelet-c1.scope',
    isScope: true,
  },
  '-.slice:cri-nodelet:c1': { folder: '/cri-nodelet-c1.scope', isScope: true },
};

for (const [cgroupsPath, { folder, isScope }] of Object.entries(folders)) {
  test(`the cgroup of ${cgroupsPath}`, () => {
    assert.equal(cgroupFolder(cgroupsPath), folder);
    assert.equal(isScopePath(cgroupsPath), isScope);
  });
}
