import assert from 'node:assert/strict';
import test from 'node:test';
import {
  addClaim,
  type CsiMachine,
  callsOf,
  csiMachine,
  podWithClaims,
  podWithVolumes,
} from '../../../../test/agent/csi-machine.ts';
import type { CSIDriverSpec, PersistentVolumeClaim } from '../../../api/generated/core-v1.ts';
import { parseQuantity } from '../../../base/quantity.ts';
import type { CsiNodeCapability } from '../../../plugins/csi/csi-drivers.ts';
import { VolumeCapability_AccessMode_Mode as Mode } from '../../../plugins/generated/csi-v1.ts';
import { planExpansion } from './claim-resize.ts';

const signal = new AbortController().signal;
const claimKey = { resource: 'persistentvolumeclaims', namespace: 'default', name: 'data' } as const;
const pvKey = { resource: 'persistentvolumes', namespace: '', name: 'pv-data' } as const;
const pod = podWithClaims('u1', ['data'], { nodeName: 'box' });
const pending = { allocatedResources: { storage: '2Gi' }, allocatedResourceStatuses: { storage: 'NodeResizePending' } };

interface PlanCase {
  readonly pv: string;
  readonly status: PersistentVolumeClaim['status'];
  readonly known?: string;
  readonly accessModes?: readonly string[];
  readonly annotations?: Readonly<Record<string, string>>;
  readonly plan: string;
}

const plans: Record<string, PlanCase> = {
  'the sizes agree': { pv: '1Gi', status: { capacity: { storage: '1Gi' } }, plan: 'none 1Gi' },
  'the volume is smaller than the claim': { pv: '1Gi', status: { capacity: { storage: '2Gi' } }, plan: 'none 2Gi' },
  'a controller without recovery has grown the volume': {
    pv: '2Gi',
    status: { capacity: { storage: '1Gi' } },
    plan: 'expand to 2Gi',
  },
  'the controller waits for the node': {
    pv: '2Gi',
    status: { capacity: { storage: '1Gi' }, ...pending },
    plan: 'expand to 2Gi with recovery',
  },
  'an earlier attempt of the node was interrupted': {
    pv: '2Gi',
    status: {
      capacity: { storage: '1Gi' },
      ...pending,
      allocatedResourceStatuses: { storage: 'NodeResizeInProgress' },
    },
    plan: 'expand to 2Gi with recovery',
  },
  'the controller is still working': {
    pv: '2Gi',
    status: {
      capacity: { storage: '1Gi' },
      ...pending,
      allocatedResourceStatuses: { storage: 'ControllerResizeInProgress' },
    },
    plan: 'none 1Gi',
  },
  'the node has given up': {
    pv: '2Gi',
    status: {
      capacity: { storage: '1Gi' },
      ...pending,
      allocatedResourceStatuses: { storage: 'NodeResizeInfeasible' },
    },
    plan: 'none 1Gi',
  },
  'the controller did all of it': {
    pv: '2Gi',
    known: '1Gi',
    status: { capacity: { storage: '2Gi' }, allocatedResources: { storage: '2Gi' } },
    plan: 'none 2Gi',
  },
  'another node has expanded a volume of many nodes': {
    pv: '2Gi',
    known: '1Gi',
    accessModes: ['ReadWriteMany'],
    status: { capacity: { storage: '2Gi' }, allocatedResources: { storage: '2Gi' } },
    plan: 'expand to 2Gi with recovery, already reported',
  },
  'another node has expanded a volume whose driver needs no nodes': {
    pv: '2Gi',
    known: '1Gi',
    accessModes: ['ReadWriteMany'],
    annotations: { 'volume.kubernetes.io/node-expansion-not-required': 'true' },
    status: { capacity: { storage: '2Gi' }, allocatedResources: { storage: '2Gi' } },
    plan: 'none 2Gi',
  },
};

for (const [what, { pv, status, known, accessModes, annotations, plan }] of Object.entries(plans)) {
  test(`planExpansion(): ${what}`, () => {
    const claim = { metadata: { name: 'data', annotations }, spec: { accessModes }, status };
    const volume = { metadata: { name: 'pv-data' }, spec: { capacity: { storage: pv } } };
    const found = planExpansion(claim, volume, known === undefined ? undefined : parseQuantity(known));
    const text =
      found.kind === 'none'
        ? `none ${found.size}`
        : `expand to ${found.newSize}${found.withRecovery ? ' with recovery' : ''}${found.isReported ? ', already reported' : ''}`;
    assert.equal(text, plan);
  });
}

interface MachineOptions {
  readonly capabilities?: readonly CsiNodeCapability[];
  readonly driverObject?: CSIDriverSpec;
}

async function machineWithClaim(options: MachineOptions = {}): Promise<CsiMachine> {
  const machine = await csiMachine(options);
  await addClaim(machine, 'data', {
    csi: { driver: 'csi.example.com', volumeHandle: 'handle-data', fsType: 'ext4' },
    mountOptions: ['noatime'],
  });
  return machine;
}

/** The controller has grown the volume, and waits for the node. */
async function grow({ api }: CsiMachine, status: object = pending): Promise<void> {
  await api.direct.patch(pvKey, { spec: { capacity: { storage: '2Gi' } } }, {}, signal);
  const conditions = [{ type: 'FileSystemResizePending', status: 'True' }];
  await api.direct.patch(claimKey, { status: { ...status, conditions } }, { subresource: 'status' }, signal);
}

async function statusOf({ api }: CsiMachine): Promise<PersistentVolumeClaim['status']> {
  return (await api.direct.get(claimKey, signal)).status;
}

const success = 'Normal FileSystemResizeSuccessful: MountVolume.NodeExpandVolume succeeded for volume "pv-data" box';

for (const [what, status] of Object.entries({ 'with recovery': pending, 'without recovery': {} })) {
  test(`a volume that has grown is expanded before its pod starts, ${what}`, async () => {
    const machine = await machineWithClaim();
    await grow(machine, status);
    await machine.volumes.prepare(pod, signal);
    const [, , expand] = machine.driver.calls;
    const staged =
      '/k/plugins/kubernetes.io/csi/csi.example.com/85f0971b5a2a1eca4229d46364a426fa1ab6f54a174e6f3b654e0a45a3bb1a58';
    assert.deepEqual(expand?.request, {
      volumeId: 'handle-data',
      volumePath: '/k/pods/u1/volumes/kubernetes.io~csi/pv-data/mount',
      capacityRange: { requiredBytes: 2n * 1024n ** 3n, limitBytes: 0n },
      stagingTargetPath: `${staged}/globalmount`,
      volumeCapability: {
        mount: { fsType: 'ext4', mountFlags: ['noatime'], volumeMountGroup: '' },
        accessMode: { mode: Mode.SINGLE_NODE_MULTI_WRITER },
      },
      secrets: {},
    });
    assert.deepEqual(machine.events, [success, `PersistentVolumeClaim data: ${success}`]);
    const found = await statusOf(machine);
    assert.deepEqual(found?.capacity, { storage: '2Gi' });
    assert.deepEqual(found?.allocatedResourceStatuses ?? {}, {});
    assert.deepEqual(found?.conditions ?? [], []);
  });
}

test('a volume that grows while its pod uses it is expanded by a later sync, once', async () => {
  const machine = await machineWithClaim();
  await machine.volumes.prepare(pod, signal);
  await machine.volumes.refresh(pod, signal);
  await grow(machine);
  await machine.volumes.refresh(pod, signal);
  await machine.volumes.refresh(pod, signal);
  assert.deepEqual(callsOf(machine), ['stage handle-data', 'publish handle-data u1', 'expand handle-data']);
  assert.deepEqual((await statusOf(machine))?.capacity, { storage: '2Gi' });
});

test('a volume that cannot be expanded is not given to its pod, and the claim says why', async () => {
  const machine = await machineWithClaim();
  await grow(machine);
  machine.driver.failNext('NodeExpandVolume', { kind: 'error', code: 'Internal', message: 'no space' });
  const error = 'Expander.NodeExpand failed to expand the volume : rpc error: code = Internal desc = no space';
  await assert.rejects(machine.volumes.prepare(pod, signal), {
    message: `MountVolume.Setup failed while expanding volume for volume "pv-data" : ${error}`,
  });
  const status = await statusOf(machine);
  assert.deepEqual(status?.allocatedResourceStatuses, { storage: 'NodeResizeInProgress' });
  const condition = status?.conditions?.find(({ type }) => type === 'NodeResizeError');
  assert.equal(condition?.message, `failed to expand pvc with ${error}`);
  await machine.volumes.prepare(pod, signal);
  assert.deepEqual((await statusOf(machine))?.conditions ?? [], []);
});

test('a size that the driver refuses is reported to the controller, and not tried again', async () => {
  const machine = await machineWithClaim();
  await machine.volumes.prepare(pod, signal);
  await grow(machine);
  machine.driver.failNext('NodeExpandVolume', { kind: 'error', code: 'OutOfRange', message: 'too large' });
  await machine.volumes.refresh(pod, signal);
  await machine.volumes.refresh(pod, signal);
  assert.deepEqual(callsOf(machine).filter((call) => call.startsWith('expand')).length, 1);
  assert.deepEqual(machine.events, [
    'Warning VolumeResizeFailed: NodeExpandVolume.NodeExpandVolume failed for volume "pv-data" : Expander.NodeExpand failed to expand the volume rpc error: code = OutOfRange desc = too large',
  ]);
  assert.deepEqual((await statusOf(machine))?.allocatedResourceStatuses, { storage: 'NodeResizeInfeasible' });
});

test('a driver that cannot expand volumes in use does not keep the pod from its volume', async () => {
  const machine = await machineWithClaim();
  await grow(machine);
  machine.driver.failNext('NodeExpandVolume', { kind: 'error', code: 'FailedPrecondition' });
  await machine.volumes.prepare(pod, signal);
  await machine.volumes.refresh(pod, signal);
  assert.deepEqual(callsOf(machine).filter((call) => call.startsWith('expand')).length, 1);
  await machine.volumes.release(pod, signal);
  await machine.volumes.prepare(pod, signal);
  assert.deepEqual((await statusOf(machine))?.capacity, { storage: '2Gi' });
});

test('an expansion without an answer is repeated', async () => {
  const machine = await machineWithClaim();
  await machine.volumes.prepare(pod, signal);
  await grow(machine);
  machine.driver.failNext('NodeExpandVolume', { kind: 'error', code: 'DeadlineExceeded', when: 'after' });
  await machine.volumes.refresh(pod, signal);
  assert.equal(
    (await statusOf(machine))?.conditions?.some(({ type }) => type === 'NodeResizeError'),
    false,
  );
  await machine.volumes.refresh(pod, signal);
  assert.deepEqual((await statusOf(machine))?.capacity, { storage: '2Gi' });
});

test('a driver that does not expand volumes: its controller did all of it', async () => {
  const machine = await machineWithClaim({ capabilities: ['STAGE_UNSTAGE_VOLUME'] });
  await grow(machine, {});
  await machine.volumes.prepare(pod, signal);
  assert.deepEqual(callsOf(machine), ['stage handle-data', 'publish handle-data u1']);
});

test('a read-only volume is not expanded', async () => {
  const machine = await machineWithClaim();
  await grow(machine);
  const volume = { name: 'data', persistentVolumeClaim: { claimName: 'data', readOnly: true } };
  await machine.volumes.prepare(podWithVolumes('u1', [volume]), signal);
  assert.deepEqual(callsOf(machine), ['stage handle-data', 'publish handle-data u1']);
  const readOnly =
    'Warning FileSystemResizeFailed: MountVolume.NodeExpandVolume failed for volume "pv-data" requested read-only file system';
  assert.deepEqual(machine.events, [readOnly, `PersistentVolumeClaim data: ${readOnly}`]);
});

test('a claim that the API server cannot store stays to be expanded', async () => {
  const machine = await machineWithClaim();
  await grow(machine);
  const { faults } = machine.api;
  const { ApiError } = await import('../../api-client/api-server.ts');
  faults.next('patch', { kind: 'before', error: new ApiError('InternalError', 'etcd is down') });
  await assert.rejects(machine.volumes.prepare(pod, signal), {
    message:
      'MountVolume.Setup failed while expanding volume for volume "pv-data" : patchPVCStatus failed to patch PVC "data": etcd is down',
  });
  await machine.volumes.prepare(pod, signal);
  assert.deepEqual((await statusOf(machine))?.capacity, { storage: '2Gi' });
});
