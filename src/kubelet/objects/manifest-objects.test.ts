import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Pod } from '../../api/generated/core-v1.ts';
import { NO_OBJECTS } from '../sources/source-objects.ts';
import { ManifestObjects } from './manifest-objects.ts';

function settings(color: string) {
  return { ...NO_OBJECTS, configMaps: [{ metadata: { name: 'settings', namespace: 'default' }, data: { color } }] };
}

test('without a source of objects the error is that of a kubelet without an API server', async () => {
  const objects = new ManifestObjects({ onChange() {} });
  const message = "couldn't get configMap default/settings, no kubeClient defined";
  await assert.rejects(objects.configMap('default', 'settings'), { message, isMissing: false });
  await assert.rejects(objects.secret('shop', 'login'), {
    message: "couldn't get secret shop/login, no kubeClient defined",
  });
  objects.set('file', NO_OBJECTS);
  await assert.rejects(objects.configMap('default', 'settings'), { message: 'configmap "settings" not found' });
});

test('of two sources the first one wins, and the same objects wake no pod', async () => {
  const woken: string[] = [];
  const objects = new ManifestObjects({ onChange: (uid) => woken.push(uid) });
  const pod: Pod = {
    metadata: { name: 'web', namespace: 'default', uid: 'u' },
    spec: { containers: [], volumes: [{ name: 'v', configMap: { name: 'settings' } }] },
  };
  objects.follow(pod);
  objects.set('file', settings('red'));
  objects.set('file', settings('red'));
  objects.set('http', settings('blue'));
  assert.deepEqual(woken, ['u']);
  assert.deepEqual((await objects.configMap('default', 'settings')).data, { color: 'red' });
  objects.set('file', NO_OBJECTS);
  assert.deepEqual(woken, ['u', 'u']);
  assert.deepEqual((await objects.configMap('default', 'settings')).data, { color: 'blue' });
});
