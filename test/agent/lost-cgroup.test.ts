/** Pods whose cgroup vanishes under a running agent, on virtual time. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type MemoryAgent, newWorld, podOf, startAgent } from './memory-agent.ts';

const CGROUP = '/kubepods/besteffort/podweb';
const RESYNC_MS = 120_000;

async function running(restartPolicy: string): Promise<MemoryAgent> {
  const it = await startAgent();
  const pod = podOf('web', { restartPolicy });
  it.source.set({ ...pod, metadata: { ...pod.metadata, uid: 'web' } });
  await it.host.clock.advance(1000);
  assert.equal(it.agent.pods()[0]?.status.phase, 'Running');
  assert.ok(await it.host.cgroups.exists(CGROUP));
  return it;
}

test('a running pod without its cgroup is killed and starts anew', async () => {
  await using it = await running('Always');
  const before = [...it.runtime.sandboxes.keys()];
  await it.host.cgroups.remove(CGROUP);
  await it.host.clock.advance(RESYNC_MS);
  const report = it.agent.pods()[0];
  assert.equal(report?.status.phase, 'Running');
  assert.equal(report?.status.containerStatuses?.[0]?.restartCount, 1);
  assert.ok(await it.host.cgroups.exists(CGROUP));
  const after = [...it.runtime.sandboxes.values()].filter(({ state }) => state === 'ready');
  assert.equal(after.length, 1);
  assert.ok(!before.includes(after[0]?.id ?? ''));
  const events = report?.events.filter(({ reason }) => reason === 'Killing') ?? [];
  assert.deepEqual(
    events.map(({ message }) => message),
    ['Stopping container main'],
  );
});

test('one that never restarts has ended', async () => {
  await using it = await running('Never');
  await it.host.cgroups.remove(CGROUP);
  await it.host.clock.advance(RESYNC_MS);
  assert.match(it.agent.pods()[0]?.status.phase ?? '', /^(Failed|Succeeded)$/);
  assert.equal(await it.host.cgroups.exists(CGROUP), false);
});

test('an agent that is restarted with another cgroup root moves its pods there', async () => {
  const world = newWorld();
  const first = await startAgent(world);
  const pod = podOf('web');
  const set = (agent: MemoryAgent): void => agent.source.set({ ...pod, metadata: { ...pod.metadata, uid: 'web' } });
  set(first);
  await first.host.clock.advance(1000);
  await first.stop();
  await using it = await startAgent(world, { cgroupRoot: '/other' });
  set(it);
  await it.host.clock.advance(RESYNC_MS);
  assert.ok(await it.host.cgroups.exists(`/other${CGROUP}`));
  assert.equal(it.agent.pods()[0]?.status.containerStatuses?.[0]?.restartCount, 1);
});
