import assert from 'node:assert/strict';
import test from 'node:test';
import { silentLog } from '../../base/log.ts';
import { SeededRandom } from '../../host/fake/seeded-random.ts';
import { VirtualClock } from '../../host/fake/virtual-clock.ts';
import { removeOrphanVolumes } from './remove-orphan-volumes.ts';

test('orphan volumes are removed once, after as many attempts as it takes', async () => {
  const clock = new VirtualClock();
  const attempts: number[] = [];
  const volumes = {
    async removeOrphans() {
      attempts.push(Math.round(clock.monotonic() / 1000));
      if (attempts.length < 4) throw new Error('the driver is not registered');
    },
  };
  const abort = new AbortController();
  const done = removeOrphanVolumes({ volumes, clock, random: new SeededRandom(1), log: silentLog }, abort.signal);
  await clock.runUntil(done);
  assert.deepEqual(attempts.length, 4);
  assert.deepEqual(attempts[0], 0);
});
