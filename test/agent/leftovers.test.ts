/** What an agent that was killed half-way through a clean-up leaves, the next one finds. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { newWorld, SETTINGS, startAgent } from './memory-agent.ts';

const places: Record<string, string> = {
  'the folder of a pod': `${SETTINGS.rootDir}/pods/uid-old/volumes`,
  'the logs of a pod': `${SETTINGS.podLogsDir}/default_old_uid-old/main`,
};

for (const [what, path] of Object.entries(places)) {
  test(`an agent removes ${what} that nobody wants, though nothing else is left of it`, async () => {
    const world = newWorld();
    await world.host.fs.makeDirectory(path);
    const it = await startAgent(world);
    it.source.set();
    await world.host.clock.advance(0);
    assert.equal(await world.host.fs.stat(path), undefined);
    assert.deepEqual(it.agent.pods(), []);
    await it.stop();
  });
}

test('an agent removes the control group of a pod that nobody wants, whatever its class was', async () => {
  const world = newWorld();
  for (const parent of ['kubepods', 'kubepods/burstable', 'kubepods/besteffort']) {
    await world.host.cgroups.create(`/${parent}/poduid-old`);
  }
  const it = await startAgent(world);
  it.source.set();
  await world.host.clock.advance(0);
  assert.deepEqual(await world.host.cgroups.children('/kubepods'), ['besteffort', 'burstable']);
  await it.stop();
});
