import assert from 'node:assert/strict';
import { test } from 'node:test';
import { nodeRuntimeHandlers, runtimeErrors, runtimeVersionText } from './node-runtime.ts';

const versions: Record<string, string> = {
  '1.6.20': '1.6.20',
  '1.6.20~ds1': '1.6.20',
  'v2.1.0': '2.1.0',
  '2.1.0-rc.1+deb12': '2.1.0-rc.1+deb12',
  '1.34': '1.34',
  unknown: 'Unknown',
};

for (const [runtimeVersion, shown] of Object.entries(versions)) {
  test(`runtimeVersionText() shows ${runtimeVersion} as ${shown}`, () => {
    const answer = { version: '0.1.0', runtimeName: 'containerd', runtimeVersion, runtimeApiVersion: 'v1' };
    assert.equal(runtimeVersionText(answer), `containerd://${shown}`);
  });
}

const ready = { type: 'RuntimeReady', status: true, reason: '', message: '' };
const network = { type: 'NetworkReady', status: true, reason: '', message: '' };

test('runtimeErrors() are undefined if both conditions are true', () => {
  assert.deepEqual(runtimeErrors({ status: { conditions: [ready, network] } }), {
    runtime: undefined,
    network: undefined,
  });
});

test('runtimeErrors() have kubelet’s messages', () => {
  const noCni = { ...network, status: false, reason: 'NetworkPluginNotReady', message: 'cni plugin not initialized' };
  assert.deepEqual(runtimeErrors({ status: { conditions: [noCni] } }), {
    runtime: 'container runtime not ready: <nil>',
    network:
      'container runtime network not ready: NetworkReady=false reason:NetworkPluginNotReady message:cni plugin not initialized',
  });
});

test('nodeRuntimeHandlers() are sorted, and have all features', () => {
  const features = { recursiveReadOnlyMounts: true, userNamespaces: false };
  assert.deepEqual(
    nodeRuntimeHandlers({
      runtimeHandlers: [
        { name: 'runc', features },
        { name: '', features: undefined },
      ],
    }),
    [
      { name: '', features: { recursiveReadOnlyMounts: false, userNamespaces: false } },
      { name: 'runc', features },
    ],
  );
});
