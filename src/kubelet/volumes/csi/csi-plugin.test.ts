import assert from 'node:assert/strict';
import test from 'node:test';
import {
  addClaim,
  callsOf,
  csiMachine,
  DEFAULT_OBJECT,
  leftOver,
  podWithClaims,
  podWithVolumes,
} from '../../../../test/agent/csi-machine.ts';
import type { MountedVolume } from '../volume-plugin.ts';

import { csiVolumeUsage } from './csi-volume-usage.ts';

const signal = new AbortController().signal;
const STAGED = `/k/plugins/kubernetes.io/csi/csi.example.com/85f0971b5a2a1eca4229d46364a426fa1ab6f54a174e6f3b654e0a45a3bb1a58`;
const OWN = '/k/pods/u1/volumes/kubernetes.io~csi/pv-data';

test('a claim is staged and published at kubelet’s paths', async () => {
  const machine = await csiMachine();
  const { fs } = machine.host;
  await addClaim(machine, 'data');
  await machine.volumes.prepare(podWithClaims('u1', ['data']), signal);
  const { content: _, ...volume } = machine.volumes.volumes('u1').get('data') as MountedVolume;
  const marker = `${OWN}/vol_data.json`;
  assert.deepEqual(volume, { path: `${OWN}/mount`, specName: 'pv-data', readOnly: false, isRelabelled: true, marker });
  assert.deepEqual(await leftOver(machine), [
    '/k/pods/u1/volumes',
    '/k/pods/u1/volumes/kubernetes.io~csi',
    OWN,
    `${OWN}/mount (mounted)`,
    `${OWN}/vol_data.json`,
    STAGED,
    `${STAGED}/globalmount (mounted)`,
    `${STAGED}/vol_data.json`,
  ]);
  assert.equal((await fs.stat(OWN))?.mode, 0o750);
  assert.equal((await fs.stat(marker))?.mode, 0o644);
});

test('vol_data.json has kubelet’s bytes', async () => {
  const machine = await csiMachine();
  const { fs } = machine.host;
  await addClaim(machine, 'data');
  await machine.volumes.prepare(podWithClaims('u1', ['data']), signal);
  assert.equal(
    await fs.readText(`${OWN}/vol_data.json`),
    '{"attachmentID":"csi-c0897e931d359dbe0e7462670e473b0ec13113dec3339e87da7d020745bea0aa","driverName":"csi.example.com","nodeName":"box","specVolID":"pv-data","volumeHandle":"handle-data","volumeLifecycleMode":"Persistent"}\n',
  );
  assert.equal(
    await fs.readText(`${STAGED}/vol_data.json`),
    '{"driverName":"csi.example.com","volumeHandle":"handle-data"}\n',
  );
});

test('a claim is unpublished and unstaged, and nothing is left', async () => {
  const machine = await csiMachine();
  await addClaim(machine, 'data');
  const pod = podWithClaims('u1', ['data']);
  await machine.volumes.prepare(pod, signal);
  await machine.volumes.release(pod, signal);
  assert.deepEqual(callsOf(machine), [
    'stage handle-data',
    'publish handle-data u1',
    'unpublish handle-data u1',
    'unstage handle-data',
  ]);
  assert.deepEqual(machine.driver.volumes, {});
  assert.deepEqual(await leftOver(machine), []);
});

test('a driver that does not stage volumes only publishes them', async () => {
  const machine = await csiMachine({ capabilities: [] });
  await addClaim(machine, 'data');
  const pod = podWithClaims('u1', ['data']);
  await machine.volumes.prepare(pod, signal);
  await machine.volumes.release(pod, signal);
  assert.deepEqual(callsOf(machine), ['publish handle-data u1', 'unpublish handle-data u1']);
  assert.deepEqual(await leftOver(machine), []);
});

test('a volume of a pod’s own is published without being staged', async () => {
  const driverObject = { ...DEFAULT_OBJECT, volumeLifecycleModes: ['Ephemeral'], podInfoOnMount: true };
  const machine = await csiMachine({ driverObject });
  const pod = podWithVolumes('u1', [{ name: 'scratch', csi: { driver: 'csi.example.com' } }]);
  await machine.volumes.prepare(pod, signal);
  await machine.volumes.release(pod, signal);
  const handle = 'csi-c8c135b044e4505c2e1d97317834afdda287006a636d3f503243e6d708883cb4';
  assert.deepEqual(callsOf(machine), [`publish ${handle} u1`, `unpublish ${handle} u1`]);
  assert.deepEqual(await leftOver(machine), []);
});

test('a volume that is published is not published again for a new version of its pod', async () => {
  const machine = await csiMachine();
  await addClaim(machine, 'data');
  const pod = podWithClaims('u1', ['data']);
  await machine.volumes.prepare(pod, signal);
  await machine.volumes.refresh(pod, signal);
  await machine.volumes.prepare(podWithClaims('u1', ['data'], { activeDeadlineSeconds: 5 }), signal);
  assert.deepEqual(callsOf(machine), ['stage handle-data', 'publish handle-data u1']);
});

test('a driver with requiresRepublish gets its volume again at every sync', async () => {
  const machine = await csiMachine({ driverObject: { ...DEFAULT_OBJECT, requiresRepublish: true } });
  await addClaim(machine, 'data');
  const pod = podWithClaims('u1', ['data']);
  await machine.volumes.prepare(pod, signal);
  await machine.volumes.refresh(pod, signal);
  machine.driver.failNext('NodePublishVolume', { kind: 'error', code: 'Internal' });
  await assert.rejects(machine.volumes.refresh(pod, signal), {
    message: 'MountVolume.SetUp failed for volume "pv-data" : rpc error: code = Internal desc = injected Internal',
  });
  // The pod keeps what it has.
  assert.equal((await leftOver(machine)).includes(`${OWN}/mount (mounted)`), true);
  await machine.volumes.refresh(pod, signal);
  const publish = 'publish handle-data u1';
  assert.deepEqual(callsOf(machine), ['stage handle-data', publish, publish, publish, publish]);
});

test('the usage of a volume is what its driver reports', async () => {
  const machine = await csiMachine();
  const { fs } = machine.host;
  await addClaim(machine, 'data');
  await machine.volumes.prepare(podWithClaims('u1', ['data']), signal);
  const gib = 1024 ** 3;
  const noInodes = { inodes: 0, inodesFree: 0, inodesUsed: 0 };
  const usage = { capacityBytes: gib, usedBytes: gib / 4, availableBytes: (gib / 4) * 3, ...noInodes };
  assert.deepEqual(await csiVolumeUsage(`${OWN}/mount`, { fs, drivers: machine.drivers }, signal), usage);
  const silent = await csiMachine({ capabilities: [] });
  await addClaim(silent, 'data');
  await silent.volumes.prepare(podWithClaims('u1', ['data']), signal);
  const { host, drivers } = silent;
  assert.equal(await csiVolumeUsage(`${OWN}/mount`, { fs: host.fs, drivers }, signal), undefined);
});
