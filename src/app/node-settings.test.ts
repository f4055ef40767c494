import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createMemoryHost } from '../host/fake/memory-host.ts';
import type { NodeSettings } from '../kubelet/node/node-settings.ts';
import { loadKubeletConfig } from './config/load-config.ts';
import { nodeSettings } from './node-settings.ts';

const DECLARED = [
  'InPlacePodLevelResourcesVerticalScaling',
  'InPlacePodVerticalScalingInitContainers',
  'RestartAllContainersOnContainerExits',
];

async function settingsOf(...flags: string[]): Promise<NodeSettings> {
  const { fs } = createMemoryHost();
  const { settings } = await loadKubeletConfig(flags, { fs, hostname: 'Box' }, new AbortController().signal);
  return nodeSettings(settings, 'cgroupfs');
}

test('nodeSettings() has kubelet’s defaults', async () => {
  const { thresholds, architecture, ...settings } = await settingsOf();
  assert.notEqual(architecture, '');
  assert.deepEqual(
    thresholds.map(({ signal }) => signal),
    ['imagefs.available', 'imagefs.inodesFree', 'memory.available', 'nodefs.available', 'nodefs.inodesFree'],
  );
  assert.deepEqual(settings, {
    nodeName: 'box',
    rootDir: '/var/lib/kubelet',
    labels: {},
    taints: [],
    isCloudExternal: false,
    providerId: '',
    registers: true,
    controllerAttaches: true,
    nodeIps: [],
    maxPods: 110,
    podsPerCore: 0,
    maxImages: 50,
    systemReserved: new Map(),
    kubeReserved: new Map(),
    reservedCpus: 0,
    reservesThresholds: true,
    enforcesPods: true,
    podsCgroup: '/kubepods',
    pressureTransitionMs: 300_000,
    hasEphemeralStorage: true,
    evictionMaxPodGraceSeconds: 0,
    separatesDisks: true,
    kubeletPort: 10_250,
    statusUpdateMs: 10_000,
    statusReportMs: 300_000,
    leaseSeconds: 40,
    declaredFeatures: ['ExtendWebSocketsToKubelet', ...DECLARED],
  });
});

test('nodeSettings() reads flags', async () => {
  const settings = await settingsOf(
    '--hostname-override=Node-1',
    '--node-labels=node.kubernetes.io/a=b',
    '--register-with-taints=k=v:NoExecute',
    '--cloud-provider=external',
    '--provider-id=cloud://1',
    '--register-node=false',
    '--node-ip=10.0.0.1,2001:db8::1',
    '--pods-per-core=5',
    '--reserved-cpus=0-1',
    '--experimental-allocatable-ignore-eviction',
    '--enforce-node-allocatable=none',
    '--cgroup-root=/parent',
  );
  assert.equal(settings.nodeName, 'node-1');
  assert.deepEqual(settings.labels, { 'node.kubernetes.io/a': 'b' });
  assert.deepEqual(settings.taints, [{ key: 'k', value: 'v', effect: 'NoExecute' }]);
  assert.deepEqual([settings.isCloudExternal, settings.providerId, settings.registers], [true, 'cloud://1', false]);
  assert.deepEqual(settings.nodeIps, ['10.0.0.1', '2001:db8::1']);
  assert.deepEqual([settings.podsPerCore, settings.reservedCpus], [5, 2]);
  assert.deepEqual([settings.reservesThresholds, settings.enforcesPods], [false, false]);
  assert.equal(settings.podsCgroup, '/parent/kubepods');
});

test('nodeSettings() declares WebSockets for every runtime, unless the feature gate is off', async () => {
  const expected = ['ExtendWebSocketsToKubelet', ...DECLARED];
  assert.deepEqual((await settingsOf()).declaredFeatures, expected);
  assert.deepEqual((await settingsOf('--container-runtime-endpoint=embedded')).declaredFeatures, expected);
  const off = '--feature-gates=ExtendWebSocketsToKubelet=false';
  const without = await settingsOf('--container-runtime-endpoint=embedded', off);
  assert.deepEqual(without.declaredFeatures, DECLARED);
});
