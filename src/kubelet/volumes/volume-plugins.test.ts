import assert from 'node:assert/strict';
import test from 'node:test';
import { examplePod } from '../sync/config/pod.fixture.ts';
import { relabelledVolumes } from './volume-plugins.ts';

test('relabelledVolumes() are the volumes that belong to the pod alone', () => {
  const volumes = [
    { name: 'scratch', emptyDir: {} },
    { name: 'settings', configMap: { name: 'c' } },
    { name: 'keys', secret: { secretName: 's' } },
    { name: 'labels', downwardAPI: {} },
    { name: 'all', projected: {} },
    { name: 'machine', hostPath: { path: '/srv' } },
    { name: 'picture', image: { reference: 'busybox' } },
  ];
  assert.deepEqual(
    [...relabelledVolumes(examplePod({ spec: { volumes } }))],
    ['scratch', 'settings', 'keys', 'labels', 'all'],
  );
});
