import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { CSINode, CSINodeDriver } from '../../api/generated/core-v1.ts';
import type { CsiNodeInfo } from '../../plugins/csi/csi-node-info.ts';
import {
  attachLimitError,
  newCsiNode,
  nodePatchForDriver,
  nodePatchWithoutDriver,
  otherOwner,
  withDriver,
  withMigratedPlugins,
  withoutDriver,
} from './csi-node-changes.ts';

const INFO: CsiNodeInfo = { nodeId: 'i-1', maxVolumes: 39n, topology: { 'example.com/zone': 'a', 'a.com/rack': '7' } };
const DRIVER: CSINodeDriver = {
  name: 'a.csi',
  nodeID: 'i-1',
  topologyKeys: ['a.com/rack', 'example.com/zone'],
  allocatable: { count: 39 },
};
const EMPTY = newCsiNode('box', 'uid-1');
const WITH: CSINode = { ...EMPTY, spec: { drivers: [DRIVER] } };
const ANNOTATION = 'csi.volume.kubernetes.io/nodeid';
const MIGRATED = 'storage.alpha.kubernetes.io/migrated-plugins';

test('newCsiNode() has the node as its owner, and the migrated plugins', () => {
  assert.deepEqual(EMPTY.metadata, {
    name: 'box',
    ownerReferences: [{ apiVersion: 'v1', kind: 'Node', name: 'box', uid: 'uid-1' }],
    annotations: {
      [MIGRATED]:
        'kubernetes.io/aws-ebs,kubernetes.io/azure-disk,kubernetes.io/azure-file,kubernetes.io/cinder,kubernetes.io/gce-pd,kubernetes.io/portworx-volume,kubernetes.io/vsphere-volume',
    },
  });
  assert.deepEqual(EMPTY.spec, { drivers: [] });
});

test('withMigratedPlugins() ignores the order, and keeps other annotations', () => {
  const reversed = EMPTY.metadata.annotations?.[MIGRATED]?.split(',').reverse().join(',') ?? '';
  const other: CSINode = { ...EMPTY, metadata: { ...EMPTY.metadata, annotations: { [MIGRATED]: reversed } } };
  assert.equal(withMigratedPlugins(other), other);
  const bare: CSINode = { ...EMPTY, metadata: { name: 'box', annotations: { mine: 'x' } } };
  assert.deepEqual(withMigratedPlugins(bare).metadata.annotations, { mine: 'x', ...EMPTY.metadata.annotations });
});

test('withDriver() appends a new driver with sorted topology keys', () => {
  assert.deepEqual(withDriver(EMPTY, 'a.csi', INFO).spec.drivers, [DRIVER]);
  const twice = withDriver(WITH, 'b.csi', { nodeId: 'x', maxVolumes: 0n, topology: {} });
  assert.deepEqual(twice.spec.drivers, [DRIVER, { name: 'b.csi', nodeID: 'x', topologyKeys: [] }]);
});

const changes: Record<string, Partial<CsiNodeInfo>> = {
  'another node ID': { nodeId: 'i-2' },
  'another topology': { topology: { 'example.com/zone': 'a' } },
  'another limit': { maxVolumes: 40n },
  'no limit': { maxVolumes: 0n },
};
for (const [name, change] of Object.entries(changes)) {
  test(`withDriver() replaces a driver with ${name}`, () => {
    const after = withDriver(WITH, 'a.csi', { ...INFO, ...change });
    assert.equal(after.spec.drivers.length, 1);
    assert.notDeepEqual(after.spec.drivers, [DRIVER]);
  });
}

test('withDriver() changes nothing for a driver that is the same', () => {
  assert.equal(withDriver(WITH, 'a.csi', INFO), WITH);
  const zoneB = { ...INFO, topology: { 'example.com/zone': 'b', 'a.com/rack': '7' } };
  assert.equal(withDriver(WITH, 'a.csi', zoneB), WITH);
});

test('a limit is truncated to 32 bits; a negative one is left out', () => {
  const large = withDriver(EMPTY, 'a.csi', { ...INFO, maxVolumes: 2n ** 40n });
  assert.deepEqual(large.spec.drivers[0]?.allocatable, { count: 2 ** 31 - 1 });
  assert.equal(withDriver(large, 'a.csi', { ...INFO, maxVolumes: 2n ** 40n }), large);
  assert.equal(withDriver(EMPTY, 'a.csi', { ...INFO, maxVolumes: -1n }).spec.drivers[0]?.allocatable, undefined);
  assert.match(attachLimitError({ ...INFO, maxVolumes: 2n ** 40n }) ?? '', /truncating/);
  assert.match(attachLimitError({ ...INFO, maxVolumes: -1n }) ?? '', /invalid attach limit/);
  assert.equal(attachLimitError(INFO), undefined);
});

test('the API server returns an empty list of drivers as null', () => {
  const stored: CSINode = JSON.parse(JSON.stringify({ ...EMPTY, spec: { drivers: null } }));
  assert.deepEqual(withDriver(stored, 'a.csi', INFO).spec.drivers, [DRIVER]);
  assert.equal(withoutDriver(stored, 'a.csi'), stored);
  const noKeys: CSINodeDriver = JSON.parse('{"name": "a.csi", "nodeID": "i-1", "topologyKeys": null}');
  const same = { ...EMPTY, spec: { drivers: [noKeys] } };
  assert.equal(withDriver(same, 'a.csi', { nodeId: 'i-1', maxVolumes: 0n, topology: {} }), same);
});

test('withoutDriver() removes only this driver', () => {
  assert.deepEqual(withoutDriver(WITH, 'a.csi').spec.drivers, []);
  assert.equal(withoutDriver(WITH, 'b.csi'), WITH);
});

test('otherOwner() is the UID of an earlier node of the same name', () => {
  assert.equal(otherOwner(EMPTY, 'box', 'uid-1'), undefined);
  assert.equal(otherOwner(EMPTY, 'box', 'uid-2'), 'uid-1');
  assert.equal(otherOwner({ ...EMPTY, metadata: { name: 'box' } }, 'box', 'uid-1'), '');
});

test('nodePatchForDriver() adds the node ID and missing labels', () => {
  const node = {
    metadata: { name: 'box', labels: { 'a.com/rack': '7' }, annotations: { [ANNOTATION]: '{"z.csi":"q"}' } },
  };
  assert.deepEqual(nodePatchForDriver(node, 'a.csi', INFO), {
    annotations: { [ANNOTATION]: '{"a.csi":"i-1","z.csi":"q"}' },
    labels: { 'example.com/zone': 'a' },
  });
});

test('nodePatchForDriver() changes nothing that is there', () => {
  const metadata = { name: 'box', labels: { ...INFO.topology }, annotations: { [ANNOTATION]: '{"a.csi":"i-1"}' } };
  assert.equal(nodePatchForDriver({ metadata }, 'a.csi', INFO), undefined);
});

test('nodePatchForDriver() refuses a topology that contradicts a label', () => {
  const node = { metadata: { name: 'box', labels: { 'example.com/zone': 'b' } } };
  assert.throws(() => nodePatchForDriver(node, 'a.csi', INFO), {
    message:
      'detected topology value collision: driver reported "example.com/zone":"a" but existing label is "example.com/zone":"b"',
  });
});

for (const text of ['{', '[]', '{"a":1}', '"x"']) {
  test(`the annotation ${text} cannot be read`, () => {
    const node = { metadata: { name: 'box', annotations: { [ANNOTATION]: text } } };
    assert.throws(
      () => nodePatchForDriver(node, 'a.csi', INFO),
      /failed to parse node's "csi.volume.kubernetes.io\/nodeid"/,
    );
  });
}

test('nodePatchWithoutDriver() removes the node ID, and the annotation with the last one', () => {
  const withIds = (ids: string) => ({ metadata: { name: 'box', annotations: { [ANNOTATION]: ids } } });
  assert.deepEqual(nodePatchWithoutDriver(withIds('{"a.csi":"1","b.csi":"2"}'), 'a.csi'), {
    annotations: { [ANNOTATION]: '{"b.csi":"2"}' },
  });
  assert.deepEqual(nodePatchWithoutDriver(withIds('{"a.csi":"1"}'), 'a.csi'), { annotations: { [ANNOTATION]: null } });
  assert.equal(nodePatchWithoutDriver(withIds('{"b.csi":"2"}'), 'a.csi'), undefined);
});
