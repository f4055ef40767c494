import assert from 'node:assert/strict';
import test from 'node:test';
import type { Volume } from '../../api/generated/core-v1.ts';
import { findVolumePlugin, VOLUME_PLUGINS } from './volume-plugins.ts';

test('files are relabelled in the volumes that belong to the pod alone', () => {
  const volumes: Volume[] = [
    { name: 'scratch', emptyDir: {} },
    { name: 'settings', configMap: { name: 'c' } },
    { name: 'keys', secret: { secretName: 's' } },
    { name: 'labels', downwardAPI: {} },
    { name: 'all', projected: {} },
    { name: 'machine', hostPath: { path: '/srv' } },
  ];
  const relabelled = volumes.filter(
    (volume) =>
      findVolumePlugin({ name: volume.name, volume, readOnly: false, mode: 'Filesystem' }, VOLUME_PLUGINS)
        ?.supportsRelabel,
  );
  assert.deepEqual(
    relabelled.map(({ name }) => name),
    ['scratch', 'settings', 'keys', 'labels', 'all'],
  );
});
