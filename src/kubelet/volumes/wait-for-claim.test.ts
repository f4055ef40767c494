import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createMemoryHost } from '../../host/fake/memory-host.ts';
import { VolumeResolutionError } from './volume-spec.ts';
import { VolumeWaits } from './volume-waits.ts';
import { waitForClaim } from './wait-for-claim.ts';

const VOLUME = { podUid: 'u1', volume: 'data' };
const FOREVER = new AbortController().signal;

function notBound(isFinal = false): VolumeResolutionError {
  const cause = { kind: 'claimNotReady', claim: 'c', error: 'PVC is not bound' } as const;
  return new VolumeResolutionError('error processing PVC default/c: PVC is not bound', cause, { isFinal });
}

function world() {
  const { clock, random } = createMemoryHost();
  const waits = new VolumeWaits();
  const shown: string[] = [];
  const tries: number[] = [];
  const onWait = (error: Error): void => void shown.push(error.message);
  return { clock, waits, shown, tries, deps: { clock, random, waits, onWait } };
}

test('waitForClaim() retries soon, then less often, and shows the error while it waits', async () => {
  const { clock, waits, shown, tries, deps } = world();
  const resolve = async (): Promise<string> => {
    tries.push(clock.monotonic());
    if (clock.monotonic() < 20_000) throw notBound();
    return 'pv-1';
  };
  const found = waitForClaim(VOLUME, resolve, deps, FOREVER);
  await clock.advance(10_000);
  assert.deepEqual(waits.of('u1'), [
    {
      kind: 'volumeFailed',
      volume: 'data',
      cause: { kind: 'claimNotReady', claim: 'c', error: 'PVC is not bound' },
    },
  ]);
  assert.equal(await clock.runUntil(found), 'pv-1');
  assert.deepEqual(waits.of('u1'), []);
  assert.equal(shown.length, 1);
  const delays = tries.slice(1).map((at, index) => at - (tries[index] ?? 0));
  assert.ok(delays[0] !== undefined && delays[0] >= 100 && delays[0] <= 110, `${delays[0]}`);
  assert.ok(Math.max(...delays) <= 2200);
});

test('waitForClaim() fails at once with an error that does not pass', async () => {
  const { shown, deps } = world();
  await assert.rejects(
    waitForClaim(VOLUME, () => Promise.reject(notBound(true)), deps, FOREVER),
    /not bound/,
  );
  assert.deepEqual(shown, []);
});

test('waitForClaim() fails with the last error when its time is over', async () => {
  const { clock, deps } = world();
  const failed = waitForClaim(VOLUME, () => Promise.reject(notBound()), deps, clock.deadline(5000));
  await clock.runUntil(assert.rejects(failed, VolumeResolutionError));
  assert.equal(clock.monotonic(), 5000);
});
