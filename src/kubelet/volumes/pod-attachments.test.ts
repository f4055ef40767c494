import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createMemoryHost } from '../../host/fake/memory-host.ts';
import type { AttachedVolume, AttachedVolumes, PendingAttachment } from './attached-volumes.ts';
import { NodeVolumes } from './node-volumes.ts';
import { PodAttachments } from './pod-attachments.ts';
import type { VolumeSpec } from './volume-spec.ts';
import { VolumeWaits } from './volume-waits.ts';

const FOREVER = new AbortController().signal;
const SPEC: VolumeSpec = { name: 'pv-1', volume: { name: 'data' }, readOnly: false, mode: 'Filesystem' };
const ID = 'kubernetes.io/csi/d^h';

function world({ isSetUp = false } = {}) {
  let pending: PendingAttachment | undefined = 'notReported';
  let attach = Promise.withResolvers<AttachedVolume>();
  const released: string[] = [];
  const attachedVolumes: AttachedVolumes = {
    pending: () => pending,
    waitUntilAttached: async (_id, signal) => {
      signal.addEventListener('abort', () => {
        pending = 'notReported'; // the use ends with the wait
        attach.reject(signal.reason);
      });
      return attach.promise;
    },
    release: (id) => void released.push(id),
  };
  const waits = new VolumeWaits();
  const nodeVolumes = new NodeVolumes(async () => []);
  const set = (next: PendingAttachment | undefined): void => {
    pending = next;
    if (!next) attach.resolve({ devicePath: '' });
    else attach = Promise.withResolvers();
  };
  const full: string[] = [];
  const attachLimits = { isExceeded: async (id: string) => full.includes(id) };
  const attachments = new PodAttachments({ attachedVolumes, nodeVolumes, attachLimits }, waits, () => isSetUp);
  return { attachments, full, waits, nodeVolumes, released, set };
}

function waiting(isReported: boolean) {
  const cause = { kind: 'volumeNotAttached', persistentVolume: 'pv-1', isReported };
  return [{ kind: 'volumeFailed', volume: 'data', cause }];
}

test('PodAttachments shows what a volume waits for', async () => {
  const { attachments, waits, set } = world();
  const wait = attachments.forVolume('u1', SPEC).waitUntilAttached(ID, FOREVER);
  assert.deepEqual(waits.of('u1'), waiting(false));
  set(undefined);
  await wait;
  assert.deepEqual(waits.of('u1'), []);
});

test('a wait that took too long leaves its cause, once', async () => {
  const { attachments, waits, set } = world();
  const { clock } = createMemoryHost();
  set('notAttached');
  const wait = attachments.forVolume('u1', SPEC).waitUntilAttached(ID, clock.deadline(1000));
  const [expected] = waiting(true);
  await clock.runUntil(assert.rejects(wait));
  const volume = { podUid: 'u1', volume: 'data' };
  assert.deepEqual(waits.takeAborted(volume), expected?.cause);
  assert.equal(waits.takeAborted(volume), undefined);
});

test('PodAttachments does not wait for a volume that is set up already', async () => {
  const { attachments, set } = world({ isSetUp: true });
  set('notAttached');
  const wait = async (): Promise<unknown> => attachments.forVolume('u1', SPEC).waitUntilAttached(ID, FOREVER);
  await assert.rejects(wait, { message: 'Volume not attached according to node status for volume "pv-1"' });
});

test('PodAttachments releases the volume of a pod that never mounted it', async () => {
  const { attachments, released, set } = world();
  set(undefined);
  await attachments.forVolume('u1', SPEC).waitUntilAttached(ID, FOREVER);
  await attachments.forVolume('u2', SPEC).waitUntilAttached(ID, FOREVER);
  await attachments.release('u1', FOREVER);
  assert.deepEqual(released, []);
  await attachments.release('u2', FOREVER);
  assert.deepEqual(released, [ID]);
});

test('PodAttachments keeps a volume that another pod has mounted', async () => {
  const { attachments, nodeVolumes, released, set } = world();
  set(undefined);
  await nodeVolumes.use({ id: ID, podUid: 'u2' }, async () => undefined, FOREVER);
  await attachments.forVolume('u1', SPEC).waitUntilAttached(ID, FOREVER);
  await attachments.release('u1', FOREVER);
  assert.deepEqual(released, []);
});

test('PodAttachments knows the limit of a volume that is not attached', async () => {
  const { attachments, full, set } = world();
  set('notAttached');
  const wait = attachments.forVolume('u1', SPEC).waitUntilAttached(ID, FOREVER);
  assert.equal(await attachments.isLimitExceeded('u1', FOREVER), false);
  full.push(ID);
  assert.equal(await attachments.isLimitExceeded('u1', FOREVER), true);
  assert.equal(await attachments.isLimitExceeded('u2', FOREVER), false);
  set(undefined);
  assert.equal(await attachments.isLimitExceeded('u1', FOREVER), false);
  void wait;
});
