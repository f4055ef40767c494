import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CausedError } from '../pod/pod-cause.ts';
import { attachLimitExceeded } from './mount-errors.ts';
import { settleVolumes } from './settle-volumes.ts';
import { VolumeResolutionError } from './volume-spec.ts';

const FOREVER = new AbortController().signal;
const OVER = AbortSignal.abort(new Error('over'));

const WAITED = new CausedError('over', { kind: 'volumeNotAttached', persistentVolume: 'pv-1', isReported: true });
const UNBOUND = new VolumeResolutionError(
  'error processing PVC default/c: PVC is not bound',
  { kind: 'claimNotReady', claim: 'c', error: 'PVC is not bound' },
  { isFinal: false },
);

async function settle(outcomes: Readonly<Record<string, Error | string>>) {
  const volumes = Object.keys(outcomes).map((name) => ({ name }));
  const work = async ({ name }: { name: string }): Promise<unknown> => {
    const outcome = outcomes[name];
    if (outcome instanceof Error) throw outcome;
    return outcome;
  };
  return settleVolumes(volumes, work, FOREVER, OVER);
}

test('settleVolumes() names the volumes that are not mounted and not attached in time, without an event', async () => {
  const { done, errors, unmounted, unattached } = await settle({ b: WAITED, ok: 'done', a: new Error('over') });
  assert.deepEqual([...done], [['ok', 'done']]);
  assert.deepEqual([unmounted, unattached], [['a', 'b'], ['b']]);
  const message =
    'Unable to attach or mount volumes: unmounted volumes=[a b], unattached volumes=[b], failed to process volumes=[]: context deadline exceeded';
  assert.deepEqual(
    errors.map((error) => [error.message, error.silent]),
    [
      [message, true],
      [message, true],
    ],
  );
});

test('settleVolumes() keeps the error of a claim that was waited for in vain', async () => {
  const { errors } = await settle({ data: UNBOUND });
  const message =
    'Unable to attach or mount volumes: unmounted volumes=[data], unattached volumes=[], failed to process volumes=[data]: error processing PVC default/c: PVC is not bound';
  assert.deepEqual(
    errors.map((error) => [error.message, error.silent]),
    [[message, false]],
  );
});

test('attachLimitExceeded() has kubelet’s reason and message', () => {
  const { reason, message } = attachLimitExceeded({ unmounted: ['a', 'b'], unattached: ['b'] });
  assert.equal(reason, 'VolumeAttachmentLimitExceeded');
  assert.equal(
    message,
    'Node has reached its volume attachment limit, rejecting pod. unmounted volumes=[a b], unattached volumes=[b], failed to process volumes=[]: context deadline exceeded',
  );
});
