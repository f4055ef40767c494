import assert from 'node:assert/strict';
import test from 'node:test';
import { StatusResponse } from '../../cri/generated/runtime-v1.ts';
import { RuntimeFeatures } from './runtime-features.ts';

const never = new AbortController().signal;
const none = { recursiveReadOnlyMounts: false, userNamespaces: false };

test('a runtime without handlers has no features', async () => {
  const features = new RuntimeFeatures({ status: async () => StatusResponse.create() }, { runtimeHandlers: [] });
  assert.deepEqual(features.known(''), none);
  assert.deepEqual(await features.refresh('other', never), none);
});

test('refresh() reads the features of an upgraded runtime', async () => {
  const all = { recursiveReadOnlyMounts: true, userNamespaces: true };
  const newer = StatusResponse.fromPartial({
    runtimeHandlers: [{ name: '', features: all }, { name: 'old' }, { name: 'runc', features: all }],
  });
  const features = new RuntimeFeatures({ status: async () => newer }, { runtimeHandlers: [] });
  assert.deepEqual(await features.refresh('runc', never), all);
  assert.deepEqual(features.known('old'), none);
  assert.equal(features.known('other'), 'unlisted');
});
