import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PodSandboxConfig } from '../../cri/generated/runtime-v1.ts';
import { cgroupPath } from './cgroup-path.ts';

const sandbox = (cgroupParent: string) => PodSandboxConfig.fromPartial({ linux: { cgroupParent } });
const SLICE = 'kubepods-burstable-pod1_2.slice';

const paths = {
  'cgroupfs with a parent': { driver: 'cgroupfs', parent: '/kubepods/pod1', path: '/kubepods/pod1/c1' },
  'cgroupfs without a parent': { driver: 'cgroupfs', parent: '', path: '/nodelet/c1' },
  'cgroupfs with a parent that is called as a slice': { driver: 'cgroupfs', parent: 'a.slice', path: '/a.slice/c1' },
  'systemd with the path of a slice': {
    driver: 'systemd',
    parent: `/kubepods.slice/kubepods-burstable.slice/${SLICE}`,
    path: `${SLICE}:cri-nodelet:c1`,
  },
  'systemd with the name of a slice': { driver: 'systemd', parent: SLICE, path: `${SLICE}:cri-nodelet:c1` },
  'systemd without a parent': { driver: 'systemd', parent: '', path: 'system.slice:cri-nodelet:c1' },
} as const;

for (const [what, { driver, parent, path }] of Object.entries(paths)) {
  test(`cgroupPath() of ${what}`, () => {
    assert.equal(cgroupPath(sandbox(parent), 'c1', driver), path);
  });
}

test('cgroupPath() refuses a parent that systemd cannot have', () => {
  assert.throws(() => cgroupPath(sandbox('/kubepods/burstable'), 'c1', 'systemd'), {
    message:
      'linux.cgroup_parent: "/kubepods/burstable" is not a slice, but the cgroup driver of the runtime is systemd',
  });
});
