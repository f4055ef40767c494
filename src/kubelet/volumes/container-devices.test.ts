import assert from 'node:assert/strict';
import test from 'node:test';
import type { VolumeDevice } from '../../api/generated/core-v1.ts';
import { containerDevices } from './container-devices.ts';

const DEVICES = new Map([
  ['disk', { path: '/k/pods/u1/volumeDevices/kubernetes.io~csi/pv-1', readOnly: false, globalMapPath: '/k/plugins/m' }],
  [
    'source',
    { path: '/k/pods/u1/volumeDevices/kubernetes.io~csi/pv-2', readOnly: true, globalMapPath: '/k/plugins/m' },
  ],
]);

function devicesOf(...volumeDevices: VolumeDevice[]) {
  return containerDevices({ name: 'db', volumeDevices }, DEVICES);
}

test('containerDevices() are none without volumeDevices', () => {
  assert.deepEqual(containerDevices({ name: 'db' }, DEVICES), []);
});

test('containerDevices() have kubelet’s permissions', () => {
  const devices = devicesOf({ name: 'disk', devicePath: '/dev/xvda' }, { name: 'source', devicePath: '/dev/xvdb' });
  assert.deepEqual(devices, [
    { containerPath: '/dev/xvda', hostPath: '/k/pods/u1/volumeDevices/kubernetes.io~csi/pv-1', permissions: 'mrw' },
    { containerPath: '/dev/xvdb', hostPath: '/k/pods/u1/volumeDevices/kubernetes.io~csi/pv-2', permissions: 'r' },
  ]);
});

const errors: Record<string, VolumeDevice> = {
  'error DevicePath `dev/xvda` must be an absolute path': { name: 'disk', devicePath: 'dev/xvda' },
  'cannot find volume "files" to pass into container "db"': { name: 'files', devicePath: '/dev/xvda' },
};

for (const [message, device] of Object.entries(errors)) {
  test(`containerDevices() fails: ${message}`, () => {
    assert.throws(() => devicesOf(device), {
      reason: 'CreateContainerConfigError',
      message,
      eventMessage: `Error: ${message}`,
    });
  });
}
