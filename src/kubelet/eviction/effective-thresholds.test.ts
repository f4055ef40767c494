import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseQuantity } from '../../base/quantity.ts';
import { type DiskLayout, diskLayout } from '../node/signals/disk-layout.ts';
import type { PressureSignal, PressureThreshold } from '../node/signals/pressure-signal.ts';
import { effectiveThresholds } from './effective-thresholds.ts';

const threshold = (signal: PressureSignal, amount: string, gracePeriodMs = 0): PressureThreshold => ({
  signal,
  value: { quantity: parseQuantity(amount) },
  gracePeriodMs,
});
const texts = (configured: readonly PressureThreshold[], layout: DiskLayout, enforcesPods = false): readonly string[] =>
  effectiveThresholds(configured, { layout, enforcesPods }).map(({ signal, value, gracePeriodMs }) => {
    const amount = 'quantity' in value ? value.quantity.toString() : `${value.fraction}`;
    return `${signal}<${amount}${gracePeriodMs > 0 ? ' soft' : ''}`;
  });

const DISKS = [
  threshold('nodefs.available', '1Gi'),
  threshold('nodefs.inodesFree', '1k', 60_000),
  threshold('imagefs.available', '2Gi'),
  threshold('containerfs.available', '9Gi'),
];
const NODE_AND_IMAGES = ['nodefs.available<1Gi', 'nodefs.inodesFree<1k soft', 'imagefs.available<2Gi'];

const cases: Record<string, { thresholds: readonly string[]; wanted: readonly string[] }> = {
  'apply hard memory thresholds to all pods together': {
    thresholds: texts([threshold('memory.available', '1Gi'), threshold('memory.available', '2Gi', 1)], 'single', true),
    wanted: ['memory.available<1Gi', 'memory.available<2Gi soft', 'allocatableMemory.available<1Gi'],
  },
  'do not if pods are not limited': {
    thresholds: texts([threshold('memory.available', '1Gi')], 'single'),
    wanted: ['memory.available<1Gi'],
  },
  'put memory first': {
    thresholds: texts([threshold('pid.available', '1'), threshold('memory.available', '1Gi')], 'single'),
    wanted: ['memory.available<1Gi', 'pid.available<1'],
  },
  'of containers are those of the node on a single disk': {
    thresholds: texts(DISKS, 'single'),
    wanted: [...NODE_AND_IMAGES, 'containerfs.available<1Gi', 'containerfs.inodesFree<1k soft'],
  },
  'of containers are those of the images where these have their own disk': {
    thresholds: texts(DISKS, 'dedicatedImages'),
    wanted: [...NODE_AND_IMAGES, 'containerfs.available<2Gi'],
  },
  'of containers are those of the node where only images have their own disk': {
    thresholds: texts(DISKS, 'split'),
    wanted: [...NODE_AND_IMAGES, 'containerfs.available<1Gi', 'containerfs.inodesFree<1k soft'],
  },
};

for (const [name, { thresholds, wanted }] of Object.entries(cases)) {
  test(`effective thresholds ${name}`, () => assert.deepEqual(thresholds, wanted));
}

test('diskLayout() compares the devices', () => {
  assert.equal(diskLayout({ root: 1, image: 1, container: 1 }), 'single');
  assert.equal(diskLayout({ root: 1, image: 2, container: 2 }), 'dedicatedImages');
  assert.equal(diskLayout({ root: 1, image: 2, container: 1 }), 'split');
  assert.equal(diskLayout({ root: 1, image: undefined, container: undefined }), 'single');
});
