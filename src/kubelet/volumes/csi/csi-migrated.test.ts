import assert from 'node:assert/strict';
import test from 'node:test';
import { addClaim, type CsiMachine, csiMachine, podWithClaims } from '../../../../test/agent/csi-machine.ts';
import type { PersistentVolumeSpec } from '../../../api/generated/core-v1.ts';
import { type VolumeMessage, volumeChannel } from '../volume-channel.ts';

const signal = new AbortController().signal;
const GCE = 'pd.csi.storage.gke.io';
const pod = podWithClaims('u1', ['data'], { nodeName: 'box' });

interface Case {
  readonly driverName: string;
  readonly given: Partial<PersistentVolumeSpec>;
  readonly calls: readonly string[];
  readonly operations: readonly string[];
}

const operationsOf = (driver: string, isMigrated: boolean): string[] =>
  ['volume_mount', 'volume_unmount'].map((each) => `${each} kubernetes.io/csi:${driver} migrated=${isMigrated}`);

const cases: Record<string, Case> = {
  'a volume of a migrated type; as in kubelet, calls that remove it do not have its type': {
    driverName: GCE,
    given: { csi: undefined, gcePersistentDisk: { pdName: 'disk' } },
    calls: [
      'NodeStageVolume migrated=true',
      'NodePublishVolume migrated=true',
      'NodeUnpublishVolume migrated=false',
      'NodeUnstageVolume migrated=false',
    ],
    operations: operationsOf(GCE, true),
  },
  'a volume of the driver itself': {
    driverName: 'csi.example.com',
    given: {},
    calls: [
      'NodeStageVolume migrated=false',
      'NodePublishVolume migrated=false',
      'NodeUnpublishVolume migrated=false',
      'NodeUnstageVolume migrated=false',
    ],
    operations: operationsOf('csi.example.com', false),
  },
};

for (const [name, { driverName, given, calls, operations }] of Object.entries(cases)) {
  test(`calls and operations are published as those of ${name}`, async (t) => {
    const published: VolumeMessage[] = [];
    t.after(volumeChannel.subscribe((message) => published.push(message)));
    const machine = await csiMachine({ driverName });
    await addClaim(machine, 'data', given);
    await machine.volumes.prepare(pod, signal);
    await machine.volumes.release(pod, signal);
    assert.deepEqual(callsOf(machine), calls);
    assert.deepEqual(
      published.flatMap((message) =>
        message.kind === 'called' ? `${message.operation} ${message.plugin} migrated=${message.isMigrated}` : [],
      ),
      operations,
    );
  });
}

test('a migrated volume that has grown is expanded while its pod uses it', async () => {
  const machine = await csiMachine({ driverName: GCE });
  await addClaim(machine, 'data', { csi: undefined, gcePersistentDisk: { pdName: 'disk' } });
  await machine.volumes.prepare(pod, signal);
  const { direct } = machine.api;
  const pv = { resource: 'persistentvolumes', namespace: '', name: 'pv-data' } as const;
  await direct.patch(pv, { spec: { capacity: { storage: '2Gi' } } }, {}, signal);
  const claim = { resource: 'persistentvolumeclaims', namespace: 'default', name: 'data' } as const;
  const conditions = [{ type: 'FileSystemResizePending', status: 'True' }];
  await direct.patch(claim, { status: { conditions } }, { subresource: 'status' }, signal);
  await machine.volumes.refresh(pod, signal);
  assert.deepEqual(callsOf(machine).at(-1), 'NodeExpandVolume migrated=true');
});

function callsOf({ driver }: CsiMachine): string[] {
  return driver.calls.map(({ method, isMigrated }) => `${method} migrated=${isMigrated}`);
}
