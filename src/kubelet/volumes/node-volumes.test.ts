import assert from 'node:assert/strict';
import test from 'node:test';
import { NodeVolumes, type NodeVolumeUse } from './node-volumes.ts';

const signal = new AbortController().signal;
const id = 'kubernetes.io/csi/disks.example.com^vol-1';

function volumes(onDisk: readonly NodeVolumeUse[] = []) {
  const calls: string[] = [];
  const node = new NodeVolumes(async () => onDisk);
  const use = (podUid: string, error?: Error) =>
    node.use(
      { id, podUid },
      async () => {
        calls.push(`mount for ${podUid}`);
        if (error) throw error;
      },
      signal,
    );
  const stop = (podUid: string, error?: Error) =>
    node.stopUsing(
      { id, podUid },
      async () => {
        calls.push(`unmount for ${podUid}`);
        if (error) throw error;
      },
      signal,
    );
  return { node, calls, use, stop };
}

test('NodeVolumes mounts for the first pod and unmounts after the last', async () => {
  const { calls, use, stop } = volumes();
  await use('a');
  await use('b');
  await use('a');
  await stop('a');
  await stop('b');
  assert.deepEqual(calls, ['mount for a', 'unmount for b']);
});

test('NodeVolumes counts a pod whose mount failed: the failed call may have had an effect', async () => {
  const { calls, use, stop } = volumes();
  await assert.rejects(use('a', new Error('no answer')), /no answer/);
  await stop('a');
  await use('b');
  assert.deepEqual(calls, ['mount for a', 'unmount for a', 'mount for b']);
});

test('NodeVolumes keeps a user whose unmount failed, and mounts again for the next one', async () => {
  const { node, calls, use, stop } = volumes();
  await use('a');
  await assert.rejects(stop('a', new Error('busy')), /busy/);
  assert.deepEqual([...(await node.usersOf(id, signal))], ['a']);
  await use('b');
  await stop('a');
  await stop('b');
  assert.deepEqual(calls, ['mount for a', 'unmount for a', 'mount for b', 'unmount for b']);
});

test('NodeVolumes knows the pods of an earlier process', async () => {
  const { calls, use, stop } = volumes([
    { id, podUid: 'a' },
    { id, podUid: 'b' },
  ]);
  await stop('a');
  await use('b'); // mounted by the earlier process, perhaps not completely
  await stop('b');
  assert.deepEqual(calls, ['mount for b', 'unmount for b']);
});

test('NodeVolumes unmounts for a pod of which it knows nothing', async () => {
  const { calls, stop } = volumes();
  await stop('a');
  assert.deepEqual(calls, ['unmount for a']);
});

test('NodeVolumes never mounts and unmounts one volume at the same time', async () => {
  const { node } = volumes();
  const seen: string[] = [];
  const gate = Promise.withResolvers<void>();
  const first = node.use(
    { id, podUid: 'a' },
    async () => {
      seen.push('mounting');
      await gate.promise;
      seen.push('mounted');
    },
    signal,
  );
  const second = node.stopUsing({ id, podUid: 'a' }, async () => void seen.push('unmounted'), signal);
  const other = node.use({ id: 'other', podUid: 'b' }, async () => void seen.push('other'), signal);
  await other;
  gate.resolve();
  await Promise.all([first, second]);
  assert.deepEqual(seen, ['mounting', 'other', 'mounted', 'unmounted']);
});

test('NodeVolumes reads the disk again if that failed', async () => {
  let isBroken = true;
  const node = new NodeVolumes(async () => {
    if (isBroken) throw new Error('EIO');
    return [{ id, podUid: 'b' }];
  });
  const calls: string[] = [];
  const stop = () => node.stopUsing({ id, podUid: 'a' }, async () => void calls.push('unmount'), signal);
  await assert.rejects(stop(), /EIO/);
  isBroken = false;
  await stop();
  assert.deepEqual(calls, []);
});

test('NodeVolumes stops waiting for a volume when its signal aborts', async () => {
  const { node } = volumes();
  const gate = Promise.withResolvers<void>();
  const first = node.use({ id, podUid: 'a' }, () => gate.promise, signal);
  const ending = new AbortController();
  const second = node.use({ id, podUid: 'b' }, async () => undefined, ending.signal);
  ending.abort(new Error('the pod ends'));
  await assert.rejects(second, /the pod ends/);
  gate.resolve();
  await first;
});
