/** A process that has no descriptor left (EMFILE) still knows how its programs end, and still ends them. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import koffi from 'koffi';
import { exitStatusOf } from '../sys/exit-status.ts';
import { openPidfd } from '../sys/loop-socket.ts';
import { spawnInSession } from '../sys/posix-spawn.ts';
import { spawnStreamed } from './spawn-streamed.ts';

const libc = koffi.load('libc.so.6');
const getLimit = libc.func('int getrlimit(int resource, _Out_ uint64_t *limit)');
const setLimit = libc.func('int setrlimit(int resource, const uint64_t *limit)');
const RLIMIT_NOFILE = 7;
const env = { PATH: '/usr/bin:/bin' };

/** No new descriptor until it is disposed of. */
function withoutDescriptors(): Disposable {
  const limits = [0n, 0n];
  assert.equal(getLimit(RLIMIT_NOFILE, limits), 0);
  assert.equal(setLimit(RLIMIT_NOFILE, [0n, limits[1] ?? 0n]), 0);
  return { [Symbol.dispose]: () => void setLimit(RLIMIT_NOFILE, limits) };
}

for (const [line, status] of Object.entries({ 'exit 3': 3, 'sleep 0.2; exit 4': 4, 'kill -9 $$': 137 })) {
  test(`exitStatusOf() without a descriptor: ${line}`, async () => {
    const { pid } = spawnInSession({ program: '/bin/sh', args: ['-c', line], env, ends: [null, null, null] });
    const exited = (() => {
      using _ = withoutDescriptors();
      assert.throws(() => openPidfd(pid), /pidfd_open: errno 24/);
      return exitStatusOf(pid);
    })();
    assert.equal(await exited, status);
  });
}

test('kill() without a descriptor rejects, and the program is killed all the same', async () => {
  const program = await spawnStreamed({
    program: '/bin/sh',
    args: ['-c', 'sleep 60 & echo started; wait'],
    env,
    streams: 'outputOnly',
  });
  const [started] = await Array.fromAsync(firstOf(program.stdout));
  assert.equal(new TextDecoder().decode(started), 'started\n');
  {
    using _ = withoutDescriptors();
    await assert.rejects(program.kill(), { code: 'EMFILE' });
  }
  assert.equal(await program.exited, 137);
});

async function* firstOf(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  for await (const chunk of chunks) return yield chunk;
}
