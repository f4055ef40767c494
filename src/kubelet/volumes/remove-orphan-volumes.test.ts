import assert from 'node:assert/strict';
import test from 'node:test';
import { ChangeSignal } from '../../base/change-signal.ts';
import { silentLog } from '../../base/log.ts';
import { SeededRandom } from '../../host/fake/seeded-random.ts';
import { VirtualClock } from '../../host/fake/virtual-clock.ts';
import { removeOrphanVolumes } from './remove-orphan-volumes.ts';

test('orphan volumes are removed after as many attempts as it takes, and again when pods leave more', async () => {
  const clock = new VirtualClock();
  const abort = new AbortController();
  const orphans = new ChangeSignal();
  const attempts: number[] = [];
  const volumes = {
    async removeOrphans() {
      attempts.push(Math.round(clock.monotonic() / 1000));
      if (attempts.length < 4) throw new Error('the driver is not registered');
      if (attempts.length === 4) orphans.notify();
      else abort.abort();
    },
    orphaned: (signal: AbortSignal) => orphans.next(signal),
  };
  const done = removeOrphanVolumes({ volumes, clock, random: new SeededRandom(1), log: silentLog }, abort.signal);
  await clock.runUntil(done);
  assert.equal(attempts.length, 5);
  assert.deepEqual(attempts[0], 0);
});
