import assert from 'node:assert/strict';
import { test } from 'node:test';
import { UNKNOWN_EXIT_CODE } from '../../processes.ts';
import { openPidfd } from './event-calls.ts';
import { exitStatusOf } from './exit-status.ts';
import { withoutDescriptors } from './no-descriptors.fixture.ts';
import { spawnInSession } from './posix-spawn.ts';

const env = { PATH: '/usr/bin:/bin' };

function start(line: string): number {
  return spawnInSession({ program: '/bin/sh', args: ['-c', line], env, descriptors: [null, null, null] }).pid;
}

for (const [line, status] of Object.entries({ 'exit 3': 3, 'sleep 0.2; exit 4': 4, 'kill -9 $$': 137 })) {
  test(`exitStatusOf() returns the status of: ${line}`, async () => {
    assert.equal(await exitStatusOf(start(line)), status);
  });

  test(`exitStatusOf() without a free descriptor returns the status of: ${line}`, async () => {
    const pid = start(line);
    const exited = (() => {
      using _ = withoutDescriptors();
      assert.throws(() => openPidfd(pid), {
        name: 'SystemCallError',
        code: 'EMFILE',
        message: `pidfd_open ${pid}: EMFILE`,
      });
      return exitStatusOf(pid);
    })();
    assert.equal(await exited, status);
  });
}

test('exitStatusOf() of a child that has been collected already is unknown, not 0', async () => {
  const pid = start('exit 0');
  assert.equal(await exitStatusOf(pid), 0);
  assert.equal(await exitStatusOf(pid), UNKNOWN_EXIT_CODE);
});
