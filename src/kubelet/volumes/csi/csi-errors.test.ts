import assert from 'node:assert/strict';
import test from 'node:test';
import {
  addClaim,
  type CsiMachine,
  csiMachine,
  DEFAULT_OBJECT,
  leftOver,
  podWithClaims,
  podWithVolumes,
} from '../../../../test/agent/csi-machine.ts';
import type { CSIDriverSpec, PersistentVolumeSpec, Volume } from '../../../api/generated/core-v1.ts';
import { describeVolumeError } from '../../explain/describe-error.ts';
import { PodError } from '../../pod/pod-error.ts';

const signal = new AbortController().signal;
const csi = { driver: 'csi.example.com', volumeHandle: 'handle-data' };
const ATTACHMENT = 'csi-c0897e931d359dbe0e7462670e473b0ec13113dec3339e87da7d020745bea0aa';
const own: Volume = { name: 'own', csi: { driver: 'csi.example.com' } };
const claimed: Volume = { name: 'v', persistentVolumeClaim: { claimName: 'data' } };
const attachmentKey = { resource: 'volumeattachments', namespace: '', name: ATTACHMENT } as const;

interface Case {
  readonly volume?: Volume;
  readonly pv?: Partial<PersistentVolumeSpec>;
  readonly driverObject?: Partial<CSIDriverSpec> | undefined;
  readonly before?: (machine: CsiMachine) => unknown;
  readonly message: string;
}

const cases: Record<string, Case> = {
  'a driver that is not registered, of a claim': {
    before: ({ drivers }) => drivers.unregister('csi.example.com'),
    message:
      'MountVolume.MountDevice failed for volume "pv-data" : kubernetes.io/csi: attacher.MountDevice failed to create newCsiDriverClient: driver name csi.example.com not found in the list of registered CSI drivers',
  },
  'a driver that is not registered, of a volume of a pod’s own': {
    volume: own,
    driverObject: { volumeLifecycleModes: ['Ephemeral'] },
    before: ({ drivers }) => drivers.unregister('csi.example.com'),
    message:
      'MountVolume.SetUp failed for volume "own" : kubernetes.io/csi: mounter.SetUpAt failed to get CSI client: driver name csi.example.com not found in the list of registered CSI drivers',
  },
  'a volume of a pod’s own without a CSIDriver object': {
    volume: own,
    driverObject: undefined,
    message:
      'MountVolume.SetUp failed for volume "own" : kubernetes.io/csi: mounter.SetupAt failed to check volume lifecycle mode: volume mode "Ephemeral" not supported by driver csi.example.com (no CSIDriver object)',
  },
  'a volume of a pod’s own that the driver does not support': {
    volume: own,
    driverObject: { volumeLifecycleModes: ['Persistent', 'Other'] },
    message:
      'MountVolume.SetUp failed for volume "own" : kubernetes.io/csi: mounter.SetupAt failed to check volume lifecycle mode: volume mode "Ephemeral" not supported by driver csi.example.com (only supports ["Persistent" "Other"])',
  },
  'a claim of a driver that has only ephemeral volumes': {
    driverObject: { volumeLifecycleModes: ['Ephemeral'] },
    message:
      'MountVolume.SetUp failed for volume "pv-data" : kubernetes.io/csi: mounter.SetupAt failed to check volume lifecycle mode: volume mode "Persistent" not supported by driver csi.example.com (only supports ["Ephemeral"])',
  },
  'a CSIDriver object without a policy for groups': {
    driverObject: { fsGroupPolicy: '' },
    message:
      'MountVolume.SetUp failed for volume "pv-data" : kubernetes.io/csi: mounter.SetupAt failed to check fsGroup policy: kubernetes.io/csi: expected valid fsGroupPolicy, received nil value or empty string',
  },
  'a missing VolumeAttachment': {
    driverObject: { attachRequired: true },
    before: ({ api }) => api.direct.delete(attachmentKey, {}, signal),
    message: `MountVolume.WaitForAttach failed for volume "pv-data" : volume handle-data has GET error for volume attachment ${ATTACHMENT}: volumeattachments.storage.k8s.io "${ATTACHMENT}" not found`,
  },
  'a volume that is not attached': {
    driverObject: { attachRequired: true },
    before: ({ api }) =>
      api.direct.patch(attachmentKey, { status: { attached: false } }, { subresource: 'status' }, signal),
    message: `MountVolume.WaitForAttach failed for volume "pv-data" : volume handle-data is not attached for volume attachment ${ATTACHMENT}`,
  },
  'a volume that cannot be attached': {
    driverObject: { attachRequired: true },
    before: ({ api }) =>
      api.direct.patch(
        attachmentKey,
        { status: { attached: false, attachError: { message: 'disk is gone' } } },
        { subresource: 'status' },
        signal,
      ),
    message: 'MountVolume.WaitForAttach failed for volume "pv-data" : disk is gone',
  },
  'a missing secret to stage': {
    pv: { csi: { ...csi, nodeStageSecretRef: { namespace: 'storage', name: 'login' } } },
    message:
      'MountVolume.MountDevice failed for volume "pv-data" : fetching NodeStageSecretRef storage/login failed: kubernetes.io/csi: failed to find the secret login in the namespace storage with error: secrets "login" not found',
  },
  'a missing secret to publish': {
    pv: { csi: { ...csi, nodePublishSecretRef: { namespace: 'storage', name: 'login' } } },
    message:
      'MountVolume.SetUp failed for volume "pv-data" : fetching NodePublishSecretRef storage/login failed: kubernetes.io/csi: failed to find the secret login in the namespace storage with error: secrets "login" not found',
  },
  'a token that cannot be issued': {
    driverObject: { tokenRequests: [{ audience: 'vault' }] },
    message:
      'MountVolume.SetUp failed for volume "pv-data" : kubernetes.io/csi: mounter.SetUpAt failed to get service accoount token attributes: cannot use TokenManager when kubelet is in standalone mode',
  },
  'a failed call to stage': {
    before: ({ driver }) => driver.failNext('NodeStageVolume', { kind: 'error', code: 'Internal', message: 'no disk' }),
    message: 'MountVolume.MountDevice failed for volume "pv-data" : rpc error: code = Internal desc = no disk',
  },
  'a failed call to publish': {
    before: ({ driver }) => driver.failNext('NodePublishVolume', { kind: 'error', code: 'Aborted', message: 'busy' }),
    message: 'MountVolume.SetUp failed for volume "pv-data" : rpc error: code = Aborted desc = busy',
  },
};

for (const [what, each] of Object.entries(cases)) {
  test(`CSI errors are kubelet’s: ${what}`, async () => {
    const driverObject =
      'driverObject' in each && each.driverObject === undefined
        ? undefined
        : { ...DEFAULT_OBJECT, ...each.driverObject };
    const machine = await csiMachine({ driverObject });
    await addClaim(machine, 'data', each.pv);
    await each.before?.(machine);
    const pod = podWithVolumes('u1', [each.volume ?? claimed]);
    await assert.rejects(machine.volumes.prepare(pod, signal), { reason: 'FailedMount', message: each.message });
    await machine.volumes.release(pod, signal);
    assert.deepEqual(machine.driver.volumes, {});
    assert.deepEqual(await leftOver(machine), []);
  });
}

test('the cause of a missing driver names it, and its pods are known', async () => {
  const machine = await csiMachine();
  await addClaim(machine, 'data');
  machine.drivers.unregister('csi.example.com');
  const error = await machine.volumes.prepare(podWithClaims('u1', ['data']), signal).catch((each: unknown) => each);
  assert.ok(error instanceof PodError);
  assert.equal(
    describeVolumeError(error.podCause, error.message)?.text,
    'volume "data" needs the CSI driver "csi.example.com", which is not registered on this node',
  );
  assert.deepEqual(machine.uses.takeWaiting('csi.example.com'), ['u1']);
  assert.deepEqual(machine.uses.takeWaiting('csi.example.com'), []);
});

test('a volume for one pod is not given to a second pod', async () => {
  const machine = await csiMachine();
  await addClaim(machine, 'data', { accessModes: ['ReadWriteOncePod'] });
  const [first, second] = [podWithClaims('u1', ['data']), podWithClaims('u2', ['data'])];
  await machine.volumes.prepare(first, signal);
  const message =
    'MountVolume.SetUp failed for volume "pv-data" : volume uses the ReadWriteOncePod access mode and is already in use by another pod';
  await assert.rejects(machine.volumes.prepare(second, signal), { message });
  await assert.rejects(machine.restart().volumes.prepare(second, signal), { message });
  await machine.volumes.release(first, signal);
  const third = podWithClaims('u3', ['data']);
  const both = await Promise.allSettled([second, third].map((pod) => machine.volumes.prepare(pod, signal)));
  assert.deepEqual(both.map(({ status }) => status).sort(), ['fulfilled', 'rejected']);
});

test('a CSI volume is not attached by the node, where the controller is not to attach it', async () => {
  const driverObject = { ...DEFAULT_OBJECT, attachRequired: true };
  const machine = await csiMachine({ driverObject, controllerAttaches: false });
  await addClaim(machine, 'data');
  const message =
    'AttachVolume.Attach failed for volume "pv-data" : attaching volumes from the kubelet is not supported';
  await assert.rejects(machine.volumes.prepare(podWithClaims('u1', ['data']), signal), {
    reason: 'FailedAttachVolume',
    message,
  });
});

test('a CSI volume that need not be attached is mounted, where the controller is not to attach any', async () => {
  const machine = await csiMachine({ controllerAttaches: false });
  await addClaim(machine, 'data');
  await machine.volumes.prepare(podWithClaims('u1', ['data']), signal);
  assert.equal(Object.keys(machine.driver.volumes).length, 1);
});
