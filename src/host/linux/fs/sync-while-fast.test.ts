import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createSyncWhileFast } from './sync-while-fast.ts';

/** `call(ms)` makes a call that takes `ms` and returns where it ran. */
function createWorld() {
  let now = 0;
  const atPace = createSyncWhileFast(() => now);
  const call = (ms: number): Promise<'sync' | 'pool'> =>
    atPace<'sync' | 'pool'>(
      () => {
        now += ms;
        return 'sync';
      },
      async () => 'pool',
    );
  const pass = (ms: number): void => {
    now += ms;
  };
  return { call, pass };
}

test('syncWhileFast() uses the pool for a while after a slow call', async () => {
  const { call, pass } = createWorld();
  assert.equal(await call(1), 'sync');
  assert.equal(await call(21), 'sync');
  assert.equal(await call(1), 'pool');
  pass(1_999);
  assert.equal(await call(1), 'pool');
  pass(1);
  assert.equal(await call(1), 'sync');
});

test('syncWhileFast() rejects with the error of the call', async () => {
  const atPace = createSyncWhileFast(() => 0);
  const failing = atPace(
    () => assert.fail('no such file'),
    async () => undefined,
  );
  await assert.rejects(failing, { message: 'no such file' });
});

test('syncWhileFast() yields to the event loop after a few milliseconds of calls', async () => {
  const { call } = createWorld();
  let othersRan = false;
  setImmediate(() => {
    othersRan = true;
  });
  for (let calls = 0; calls < 4; calls++) await call(2);
  assert.equal(othersRan, true);
});

test('syncWhileFast() does not yield for a few short calls', async () => {
  const { call } = createWorld();
  let othersRan = false;
  setImmediate(() => {
    othersRan = true;
  });
  for (let calls = 0; calls < 50; calls++) await call(0.1);
  assert.equal(othersRan, false);
});
