import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createDiskPace } from './disk-pace.ts';

/** Calls that take so many milliseconds each, and where they were made. */
function paced() {
  let now = 0;
  const atPace = createDiskPace(() => now);
  const call = (ms: number): Promise<'at once' | 'in the pool'> =>
    atPace<'at once' | 'in the pool'>(
      () => {
        now += ms;
        return 'at once';
      },
      async () => 'in the pool',
    );
  const pass = (ms: number): void => {
    now += ms;
  };
  return { call, pass };
}

test('atDiskPace() leaves the thread for a while once a call was slow', async () => {
  const { call, pass } = paced();
  assert.equal(await call(1), 'at once');
  assert.equal(await call(21), 'at once');
  assert.equal(await call(1), 'in the pool');
  pass(1_999);
  assert.equal(await call(1), 'in the pool');
  pass(1);
  assert.equal(await call(1), 'at once');
});

test('atDiskPace() tells of a failure', async () => {
  const atPace = createDiskPace(() => 0);
  const failing = atPace(
    () => assert.fail('no such file'),
    async () => undefined,
  );
  await assert.rejects(failing, { message: 'no such file' });
});

test('atDiskPace() gives way to others after a few milliseconds of calls', async () => {
  const { call } = paced();
  let othersRan = false;
  setImmediate(() => {
    othersRan = true;
  });
  for (let calls = 0; calls < 4; calls++) await call(2);
  assert.equal(othersRan, true);
});

test('atDiskPace() does not leave the turn for a few short calls', async () => {
  const { call } = paced();
  let othersRan = false;
  setImmediate(() => {
    othersRan = true;
  });
  for (let calls = 0; calls < 50; calls++) await call(0.1);
  assert.equal(othersRan, false);
});
