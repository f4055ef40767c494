/** An agent without a free descriptor (EMFILE) still kills its programs. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { withoutDescriptors } from '../sys/no-descriptors.fixture.ts';
import { spawnStreamed } from './spawn-streamed.ts';

const env = { PATH: '/usr/bin:/bin' };

test('kill() without a free descriptor rejects and still kills the program', async () => {
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
