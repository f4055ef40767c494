import assert from 'node:assert/strict';
import test from 'node:test';
import { type CgroupName, cgroupPath, kubepodsCgroup, podCgroup, podUidOfCgroup, qosCgroup } from './cgroup-names.ts';

const systemd = { cgroupRoot: '/', cgroupDriver: 'systemd' } as const;

const names: Record<string, { name: CgroupName; cgroupfs: string; systemd: string }> = {
  'the root': { name: [], cgroupfs: '/', systemd: '/' },
  'one component': { name: ['kubepods'], cgroupfs: '/kubepods', systemd: '/kubepods.slice' },
  'a dash, which separates components for systemd': {
    name: ['system-pods', 'a-b'],
    cgroupfs: '/system-pods/a-b',
    systemd: '/system_pods.slice/system_pods-a_b.slice',
  },
  'a pod': {
    name: ['kubepods', 'burstable', 'pod1234-abcd-5678-efgh'],
    cgroupfs: '/kubepods/burstable/pod1234-abcd-5678-efgh',
    systemd: '/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod1234_abcd_5678_efgh.slice',
  },
};

for (const [what, { name, cgroupfs, systemd: slices }] of Object.entries(names)) {
  test(`cgroupPath() of ${what}`, () => {
    assert.equal(cgroupPath(name, { cgroupRoot: '/' }), cgroupfs);
    assert.equal(cgroupPath(name, systemd), slices);
  });
}

test('a pod is found by the name of its slice, whatever its QoS class', () => {
  for (const qos of ['Guaranteed', 'Burstable', 'BestEffort'] as const) {
    const path = cgroupPath(podCgroup('12-34', qos, systemd), systemd);
    assert.equal(podUidOfCgroup(path.split('/').at(-1) ?? '', systemd), '12-34');
  }
  assert.equal(podUidOfCgroup('kubepods-burstable.slice', systemd), undefined);
});

test('a configured root is above everything', () => {
  const settings = { ...systemd, cgroupRoot: '/machine/node' };
  assert.deepEqual(kubepodsCgroup(settings), ['machine', 'node', 'kubepods']);
  assert.equal(
    cgroupPath(qosCgroup('BestEffort', settings), settings),
    '/machine.slice/machine-node.slice/machine-node-kubepods.slice/machine-node-kubepods-besteffort.slice',
  );
});
