import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Node } from '../../../api/generated/core-v1.ts';
import { silentLog } from '../../../base/log.ts';
import { VirtualClock } from '../../../host/fake/virtual-clock.ts';
import { NodeCache } from '../node-cache.ts';
import { NodeAttachments } from './node-attachments.ts';

const VOLUME = 'kubernetes.io/csi/disk.example.com^v1';
const FOREVER = new AbortController().signal;

function nodeWith(attached: readonly string[], { uid = 'n1', version = '1' } = {}): Node {
  const volumesAttached = attached.map((name) => ({ name, devicePath: `/dev/${name.slice(-2)}` }));
  return { metadata: { name: 'box', uid, resourceVersion: version }, spec: {}, status: { volumesAttached } };
}

function nodeInUse(volumesInUse: readonly string[], uid = 'n1'): Node {
  return { metadata: { name: 'box', uid }, spec: {}, status: { volumesInUse } };
}

function world({ onDisk = async (): Promise<readonly string[]> => [] } = {}) {
  const cache = new NodeCache('box');
  const attachments = new NodeAttachments({ cache, findOnDisk: onDisk, log: silentLog });
  let changes = 0;
  attachments.subscribe(() => changes++);
  const used = async (): Promise<readonly string[] | undefined> => (await attachments.compose())?.used;
  const report = async (uid = 'n1'): Promise<void> => {
    const volumesInUse = await used();
    attachments.onReported(nodeInUse(volumesInUse ?? [], uid));
  };
  return { cache, attachments, used, report, changes: () => changes };
}

/** Whether a promise has settled after all that is due. */
async function isSettled(promise: Promise<unknown>): Promise<boolean> {
  const clock = new VirtualClock();
  const isFirst = promise.then(
    () => true,
    () => true,
  );
  return clock.runUntil(Promise.race([isFirst, clock.sleep(1, FOREVER).then(() => false)]));
}

test('a wait reports the volume, and ends when the node has it attached', async () => {
  const { cache, attachments, used, report, changes } = world();
  cache.onObserved(nodeWith([]));
  const wait = attachments.waitUntilAttached(VOLUME, FOREVER);
  assert.deepEqual([await used(), changes(), attachments.pending(VOLUME)], [[VOLUME], 1, 'notReported']);
  await report();
  assert.equal(attachments.pending(VOLUME), 'notAttached');
  assert.equal(await isSettled(wait), false);
  cache.onObserved(nodeWith([VOLUME], { version: '2' }));
  assert.deepEqual(await wait, { devicePath: '/dev/v1' });
  assert.equal(attachments.pending(VOLUME), undefined);
});

test('an attached volume is not used before the API server has it in use', async () => {
  const { cache, attachments, report } = world();
  cache.onObserved(nodeWith([VOLUME]));
  const wait = attachments.waitUntilAttached(VOLUME, FOREVER);
  assert.equal(await isSettled(wait), false);
  await report();
  await wait;
});

test('a report that was composed before the wait does not count', async () => {
  const { cache, attachments, used, report } = world();
  cache.onObserved(nodeWith([VOLUME]));
  await used();
  const wait = attachments.waitUntilAttached(VOLUME, FOREVER);
  attachments.onReported(nodeInUse([VOLUME]));
  assert.equal(await isSettled(wait), false);
  await report();
  await wait;
});

test('a volume that was released while its report was written is reported again', async () => {
  const { cache, attachments, used, report } = world();
  cache.onObserved(nodeWith([VOLUME]));
  const first = attachments.waitUntilAttached(VOLUME, FOREVER);
  await report();
  await first;
  attachments.release(VOLUME);
  assert.deepEqual(await used(), []);
  const second = attachments.waitUntilAttached(VOLUME, FOREVER);
  attachments.onReported(nodeInUse([VOLUME]));
  assert.equal(await isSettled(second), false);
  await report();
  await second;
});

test('no wait ends while the node object is missing, and a new one needs its own report', async () => {
  const { cache, attachments, report, changes } = world();
  cache.onObserved(nodeWith([VOLUME]));
  const first = attachments.waitUntilAttached(VOLUME, FOREVER);
  await report();
  await first;
  cache.onDeleted('n1');
  const second = attachments.waitUntilAttached(VOLUME, FOREVER);
  assert.equal(await isSettled(second), false);
  const before = changes();
  cache.onObserved(nodeWith([VOLUME], { uid: 'n2' }));
  assert.equal(changes(), before + 1);
  assert.equal(await isSettled(second), false);
  await report('n2');
  await second;
});

test('an aborted wait keeps the volume in use until its release', async () => {
  const { cache, attachments, used, report, changes } = world();
  cache.onObserved(nodeWith([]));
  const end = new AbortController();
  const wait = attachments.waitUntilAttached(VOLUME, end.signal);
  await report();
  end.abort(new Error('took too long'));
  await assert.rejects(wait, /took too long/);
  assert.deepEqual([await used(), attachments.pending(VOLUME), changes()], [[VOLUME], 'notAttached', 1]);
  attachments.release(VOLUME);
  assert.deepEqual([await used(), changes()], [[], 2]);
});

test('a release has no effect on another wait', async () => {
  const { cache, attachments, used, report } = world();
  cache.onObserved(nodeWith([]));
  const wait = attachments.waitUntilAttached(VOLUME, FOREVER);
  attachments.release(VOLUME);
  assert.deepEqual(await used(), [VOLUME]);
  await report();
  cache.onObserved(nodeWith([VOLUME], { version: '2' }));
  await wait;
  attachments.release(VOLUME);
  assert.deepEqual(await used(), []);
});

test('volumes of earlier processes are left over until they are released', async () => {
  const { attachments, changes } = world({ onDisk: async () => [VOLUME, 'local'] });
  assert.deepEqual(await attachments.compose(), { used: [], leftOver: [VOLUME, 'local'] });
  attachments.release(VOLUME);
  assert.deepEqual(await attachments.compose(), { used: [], leftOver: ['local'] });
  assert.equal(changes(), 1);
});

test('a volume that is released while the disk is read is not left over', async () => {
  const disk = Promise.withResolvers<readonly string[]>();
  const { attachments } = world({ onDisk: () => disk.promise });
  const composed = attachments.compose();
  attachments.release(VOLUME);
  disk.resolve([VOLUME]);
  assert.deepEqual(await composed, { used: [], leftOver: [] });
});

test('nothing is reported until the disk is read', async () => {
  let isBroken = true;
  const onDisk = async (): Promise<readonly string[]> => {
    if (isBroken) throw new Error('EIO');
    return [VOLUME];
  };
  const { cache, attachments, report, used } = world({ onDisk });
  cache.onObserved(nodeWith([VOLUME]));
  const wait = attachments.waitUntilAttached(VOLUME, FOREVER);
  assert.equal(await attachments.compose(), undefined);
  attachments.onReported(nodeInUse([VOLUME]));
  assert.equal(await isSettled(wait), false);
  isBroken = false;
  assert.deepEqual(await used(), [VOLUME]);
  await report();
  await wait;
});

test('a volume that another client removed from the report is not reported', async () => {
  const { cache, attachments, used } = world();
  cache.onObserved(nodeWith([VOLUME]));
  const wait = attachments.waitUntilAttached(VOLUME, FOREVER);
  await used();
  attachments.onReported(nodeInUse([]));
  assert.deepEqual([await isSettled(wait), attachments.pending(VOLUME)], [false, 'notReported']);
});
