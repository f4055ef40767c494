import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CpuSet } from '../../base/cpu-set.ts';
import { silentLog } from '../../base/log.ts';
import { VirtualClock } from '../../host/fake/virtual-clock.ts';
import { CpusetUpdates, type RunningContainer } from './cpuset-updates.ts';

const PERIOD_MS = 10_000;

/** One pod with the containers `own` (exclusive) and `shared`; the pool is `pool`. */
function createWorld() {
  const clock = new VirtualClock();
  const stop = new AbortController();
  const running: RunningContainer[] = [];
  const calls: string[] = [];
  const world = { pool: '0-3', failures: 0 };
  const updates = new CpusetUpdates({
    containers: {
      running: () => running,
      async update(id, cpus) {
        calls.push(`${id}=${cpus}`);
        if (world.failures-- > 0) throw new Error('the runtime is busy');
      },
    },
    wanted: (_, container) => CpuSet.parse(container === 'own' ? '8-9' : world.pool),
    periodMs: PERIOD_MS,
    clock,
    log: silentLog,
  });
  const ended = updates.run(stop.signal);
  return {
    world,
    updates,
    running,
    /** The updates since the last call, after this time. */
    async after(ms: number): Promise<readonly string[]> {
      await clock.advance(ms);
      return calls.splice(0);
    },
    async [Symbol.asyncDispose]() {
      stop.abort();
      await ended;
    },
  };
}

const SHARED = { uid: 'u1', name: 'shared', id: 'c1' };
const OWN = { uid: 'u1', name: 'own', id: 'c2' };

test('containers of a previous process are updated once', async () => {
  await using world = createWorld();
  world.running.push(SHARED, OWN);
  world.updates.wake();
  assert.deepEqual(await world.after(0), ['c1=0-3', 'c2=8-9']);
  assert.deepEqual(await world.after(3 * PERIOD_MS), []);
});

test('a change of the shared pool reaches its containers at once, and no other', async () => {
  await using world = createWorld();
  world.updates.onCreate('u1', 'shared', '0-3');
  world.updates.onCreate('u1', 'own', '8-9');
  world.running.push(SHARED, OWN);
  assert.deepEqual(await world.after(PERIOD_MS), []);
  world.world.pool = '0-1';
  world.updates.wake();
  assert.deepEqual(await world.after(0), ['c1=0-1']);
});

test('a container that was created with the pool before a change gets the new one when it is observed', async () => {
  await using world = createWorld();
  world.updates.onCreate('u1', 'shared', '0-3');
  world.world.pool = '0-1';
  world.updates.wake();
  assert.deepEqual(await world.after(0), []);
  world.running.push(SHARED);
  world.updates.wake();
  assert.deepEqual(await world.after(0), ['c1=0-1']);
});

test('a failed update is retried soon, without an update of the others', async () => {
  await using world = createWorld();
  world.running.push(SHARED, OWN);
  world.world.failures = 1;
  world.updates.wake();
  assert.deepEqual(await world.after(0), ['c1=0-3', 'c2=8-9']);
  assert.deepEqual(await world.after(1000), ['c1=0-3']);
  assert.deepEqual(await world.after(PERIOD_MS), []);
});

test('retries of an update that goes on failing become as rare as the period', async () => {
  await using world = createWorld();
  world.running.push(SHARED);
  world.world.failures = 1000;
  world.updates.wake();
  await world.after(60_000);
  assert.equal((await world.after(10 * PERIOD_MS)).length, 10);
});

test('a change that no call announced is found after the period', async () => {
  await using world = createWorld();
  world.running.push(SHARED);
  assert.deepEqual(await world.after(PERIOD_MS - 1), []);
  assert.deepEqual(await world.after(1), ['c1=0-3']);
});
