import assert from 'node:assert/strict';
import test from 'node:test';
import {
  addClaim,
  type CsiMachine,
  type CsiMachineOptions,
  csiMachine,
  DEFAULT_OBJECT,
  leftOver,
} from '../../../../test/agent/csi-machine.ts';
import type { Pod } from '../../../api/generated/core-v1.ts';
import type { CsiFault, CsiMethod } from '../../../plugins/fake/fake-csi-driver.ts';
import { VolumeCapability_AccessMode_Mode as Mode } from '../../../plugins/generated/csi-v1.ts';
import { examplePod } from '../../sync/config/pod.fixture.ts';
import type { HostDevice } from '../volume-plugin.ts';

const signal = new AbortController().signal;
const DEVICES = '/k/plugins/kubernetes.io/csi/volumeDevices';
const LINK = '/k/pods/u1/volumeDevices/kubernetes.io~csi/pv-disk';

function podWithDevice(uid: string, readOnly = false): Pod {
  const volumes = [{ name: 'disk', persistentVolumeClaim: { claimName: 'disk', readOnly } }];
  const container = { volumeDevices: [{ name: 'disk', devicePath: '/dev/xvda' }] };
  return examplePod({ metadata: { uid, name: uid }, spec: { volumes }, container });
}

async function machineWithDisk(options: CsiMachineOptions = {}): Promise<CsiMachine> {
  const machine = await csiMachine(options);
  await addClaim(machine, 'disk', { volumeMode: 'Block' });
  return machine;
}

function calls({ driver }: CsiMachine): string[] {
  return driver.calls.map(({ method, request }) => {
    const pod = 'targetPath' in request ? ` ${request.targetPath.split('/').at(-1)}` : '';
    return `${method.replace(/^Node|Volume$/g, '').toLowerCase()}${pod}`;
  });
}

async function assertNothingLeft(machine: CsiMachine): Promise<void> {
  assert.deepEqual(machine.driver.volumes, {});
  assert.deepEqual(await leftOver(machine), []);
  const { fs } = machine.host;
  assert.deepEqual((await fs.stat('/sys/block')) ? await fs.readDirectory('/sys/block') : [], []);
}

test('a block volume is staged, published and mapped at kubelet’s paths', async () => {
  const machine = await machineWithDisk({ driverObject: { ...DEFAULT_OBJECT, podInfoOnMount: true } });
  const { fs } = machine.host;
  await machine.volumes.prepare(podWithDevice('u1'), signal);
  const { content: _, ...device } = machine.volumes.devices('u1').get('disk') as HostDevice;
  const globalMapPath = '/k/plugins/kubernetes.io/csi/volumeDevices/pv-disk/dev';
  assert.deepEqual(device, { path: LINK, readOnly: false, globalMapPath });
  assert.deepEqual(await leftOver(machine), [
    '/k/pods/u1/volumeDevices',
    '/k/pods/u1/volumeDevices/kubernetes.io~csi',
    LINK,
    `${DEVICES}/publish/pv-disk`,
    `${DEVICES}/publish/pv-disk/u1 (mounted)`,
    `${DEVICES}/pv-disk`,
    `${DEVICES}/pv-disk/data`,
    `${DEVICES}/pv-disk/data/vol_data.json`,
    `${DEVICES}/pv-disk/dev`,
    `${DEVICES}/pv-disk/dev/u1 (mounted)`,
    `${DEVICES}/staging/pv-disk`,
  ]);
  assert.equal(await fs.readText('/sys/block/loop0/loop/backing_file'), `${DEVICES}/pv-disk/dev/u1\n`);
  assert.equal(await fs.readLink(LINK), `${DEVICES}/publish/pv-disk/u1`);
  assert.match(
    await fs.readText(`${DEVICES}/pv-disk/data/vol_data.json`),
    /^\{"attachmentID":"csi-[0-9a-f]{64}","driverName":"csi.example.com","nodeName":"box","specVolID":"pv-disk","volumeHandle":"handle-disk"\}\n$/,
  );
});

test('the requests of a block volume', async () => {
  const machine = await machineWithDisk({ driverObject: { ...DEFAULT_OBJECT, podInfoOnMount: true } });
  await machine.volumes.prepare(podWithDevice('u1', true), signal);
  const stage = {
    volumeId: 'handle-disk',
    publishContext: {},
    stagingTargetPath: `${DEVICES}/staging/pv-disk`,
    volumeCapability: { block: {}, accessMode: { mode: Mode.SINGLE_NODE_MULTI_WRITER } },
    secrets: {},
    volumeContext: {},
  };
  const volumeContext = {
    'csi.storage.k8s.io/pod.name': 'u1',
    'csi.storage.k8s.io/pod.namespace': 'default',
    'csi.storage.k8s.io/pod.uid': 'u1',
    'csi.storage.k8s.io/serviceAccount.name': '',
    'csi.storage.k8s.io/ephemeral': 'false',
  };
  assert.deepEqual(
    machine.driver.calls.map(({ request }) => request),
    [stage, { ...stage, targetPath: `${DEVICES}/publish/pv-disk/u1`, readonly: true, volumeContext }],
  );
});

test('a block volume is unmapped, unpublished and unstaged after its last pod', async () => {
  const machine = await machineWithDisk();
  const [first, second] = [podWithDevice('u1'), podWithDevice('u2')];
  await machine.volumes.prepare(first, signal);
  await machine.volumes.prepare(second, signal);
  await machine.volumes.prepare(second, signal);
  await machine.volumes.release(first, signal);
  await machine.restart().volumes.release(second, signal);
  assert.deepEqual(calls(machine), ['stage', 'publish u1', 'publish u2', 'unpublish u1', 'unpublish u2', 'unstage']);
  await assertNothingLeft(machine);
});

test('a block volume is published again at every sync if its driver wants it', async () => {
  const machine = await machineWithDisk({ driverObject: { ...DEFAULT_OBJECT, requiresRepublish: true } });
  const pod = podWithDevice('u1');
  await machine.volumes.prepare(pod, signal);
  await machine.volumes.refresh(pod, signal);
  await machine.volumes.release(pod, signal);
  assert.deepEqual(calls(machine), ['stage', 'publish u1', 'publish u1', 'unpublish u1', 'unstage']);
  await assertNothingLeft(machine);
});

test('a block volume that grows is expanded while its pod uses it', async () => {
  const machine = await machineWithDisk();
  const { direct } = machine.api;
  const pod = podWithDevice('u1');
  await machine.volumes.prepare(pod, signal);
  const capacity = { storage: '2Gi' };
  await direct.patch(
    { resource: 'persistentvolumes', namespace: '', name: 'pv-disk' },
    { spec: { capacity } },
    {},
    signal,
  );
  await machine.volumes.refresh(pod, signal);
  await machine.volumes.refresh(pod, signal);
  assert.deepEqual(calls(machine), ['stage', 'publish u1', 'expand']);
  assert.deepEqual(machine.driver.calls.at(-1)?.request, {
    volumeId: 'handle-disk',
    volumePath: `${DEVICES}/publish/pv-disk/u1`,
    capacityRange: { requiredBytes: 2n * 1024n ** 3n, limitBytes: 0n },
    stagingTargetPath: `${DEVICES}/staging/pv-disk`,
    volumeCapability: { block: {}, accessMode: { mode: Mode.SINGLE_NODE_MULTI_WRITER } },
    secrets: {},
  });
});

test('a block volume of a driver that does not stage volumes', async () => {
  const machine = await machineWithDisk({ capabilities: [] });
  const pod = podWithDevice('u1');
  await machine.volumes.prepare(pod, signal);
  await machine.volumes.release(pod, signal);
  assert.deepEqual(calls(machine), ['publish u1', 'unpublish u1']);
  await assertNothingLeft(machine);
});

const METHODS: readonly CsiMethod[] = [
  'NodeStageVolume',
  'NodePublishVolume',
  'NodeUnpublishVolume',
  'NodeUnstageVolume',
];
// A certain error has no effect; without a mount there is nothing that would show one.
const FAULTS = [
  { kind: 'error', code: 'Internal', when: 'before' },
  { kind: 'error', code: 'DeadlineExceeded', when: 'before' },
  { kind: 'error', code: 'DeadlineExceeded', when: 'after' },
] as const satisfies readonly CsiFault[];

for (const method of METHODS) {
  for (const fault of FAULTS) {
    const what = `${method} fails with ${fault.code} ${fault.when} its effect`;

    test(`block volumes are retried until they succeed: ${what}`, async () => {
      const machine = await machineWithDisk();
      const pod = podWithDevice('u1');
      machine.driver.failNext(method, fault);
      await machine.volumes.prepare(pod, signal).catch(() => machine.volumes.prepare(pod, signal));
      assert.deepEqual([...machine.volumes.devices('u1').keys()], ['disk']);
      await machine.volumes.release(pod, signal).catch(() => machine.volumes.release(pod, signal));
      await machine.volumes.removeOrphans(signal);
      await assertNothingLeft(machine);
    });

    test(`block volumes are removed after a failed attempt, by a new process: ${what}`, async () => {
      const machine = await machineWithDisk();
      const pod = podWithDevice('u1');
      machine.driver.failNext(method, fault);
      await machine.volumes.prepare(pod, signal).catch(() => undefined);
      await machine.volumes.release(pod, signal).catch(() => undefined);
      const next = machine.restart();
      await next.volumes.release(pod, signal);
      await next.volumes.removeOrphans(signal);
      await assertNothingLeft(machine);
    });
  }
}

test('the errors of block volumes are kubelet’s', async () => {
  const machine = await machineWithDisk();
  const pod = podWithDevice('u1');
  machine.driver.failNext('NodeStageVolume', { kind: 'error', code: 'Internal', message: 'no disk' });
  const reason = 'FailedMapVolume';
  await assert.rejects(machine.volumes.prepare(pod, signal), {
    reason,
    message: 'MapVolume.SetUpDevice failed for volume "pv-disk" : rpc error: code = Internal desc = no disk',
  });
  machine.driver.failNext('NodePublishVolume', { kind: 'error', code: 'Internal', message: 'no disk' });
  await assert.rejects(machine.volumes.prepare(pod, signal), {
    reason,
    message: 'MapVolume.MapPodDevice failed for volume "pv-disk" : rpc error: code = Internal desc = no disk',
  });
  machine.drivers.unregister('csi.example.com');
  await assert.rejects(
    machine
      .restart()
      .volumes.prepare(podWithDevice('u2'), signal)
      .then(() => machine.volumes.prepare(pod, signal)),
    {
      reason,
      message:
        'MapVolume.MapPodDevice failed for volume "pv-disk" : kubernetes.io/csi: blockMapper.MapPodDevice failed to get CSI client: driver name csi.example.com not found in the list of registered CSI drivers',
    },
  );
});
