import assert from 'node:assert/strict';
import { test } from 'node:test';
import { silentLog } from '../../base/log.ts';
import { MemoryLockFiles } from '../../host/fake/memory-lock-files.ts';
import { eventLoopTurn } from '../../host/linux/process/event-loop-turn.ts';
import { holdLockFile } from './hold-lock-file.ts';

const never = new AbortController().signal;

function scene() {
  const lockFiles = new MemoryLockFiles();
  const contentions: string[] = [];
  const hold = (lockFile: string | undefined, exitOnLockContention: boolean, signal = never) => {
    const onContention = () => void contentions.push(lockFile ?? '');
    return holdLockFile(
      { exitOnLockContention, ...(lockFile && { lockFile }) },
      { lockFiles, log: silentLog, onContention },
      signal,
    );
  };
  return { lockFiles, contentions, hold };
}

test('without --lock-file nothing is locked', async () => {
  const { hold } = scene();
  await using _first = await hold(undefined, false);
  await using _second = await hold(undefined, false);
});

test('--lock-file waits for the lock, and the holder continues', async () => {
  const { contentions, hold } = scene();
  const first = await hold('/l', false);
  let isHeld = false;
  const second = hold('/l', false).then((lock) => {
    isHeld = true;
    return lock;
  });
  await eventLoopTurn();
  assert.deepEqual([isHeld, contentions], [false, []]);
  await first[Symbol.asyncDispose]();
  await (await second)[Symbol.asyncDispose]();
  assert.equal(isHeld, true);
});

test('--exit-on-lock-contention ends the holder when another process opens the file', async () => {
  const { contentions, hold } = scene();
  const first = await hold('/l', true);
  await eventLoopTurn();
  assert.deepEqual(contentions, []);
  const second = hold('/l', false);
  await eventLoopTurn();
  assert.deepEqual(contentions, ['/l']);
  await first[Symbol.asyncDispose]();
  await (await second)[Symbol.asyncDispose]();
});

test('an interrupted wait rejects with the reason, and a released lock reports no contention', async () => {
  const { contentions, hold } = scene();
  const enough = new AbortController();
  const first = await hold('/l', true);
  const second = hold('/l', true, enough.signal);
  enough.abort(new Error('enough'));
  await assert.rejects(second, { message: 'enough' });
  await first[Symbol.asyncDispose]();
  await using _third = await hold('/l', true);
  await eventLoopTurn();
  assert.deepEqual(contentions, ['/l']); // of the second, not of the third
});

test('a lock that cannot be taken is an error with the path', async () => {
  const lockFiles = { acquire: () => Promise.reject(new Error('no such file or directory')) };
  const deps = { lockFiles, log: silentLog, onContention: () => {} };
  await assert.rejects(holdLockFile({ lockFile: '/no/l', exitOnLockContention: false }, deps, never), {
    name: 'CommandError',
    message: 'unable to acquire file lock on "/no/l": no such file or directory',
  });
});
