/** The contract of connected programs. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ConnectedPrograms } from '../../../src/host/connected-programs.ts';
import { MemoryConnectedPrograms } from '../../../src/host/fake/memory-connected-programs.ts';
import { linuxConnectedPrograms } from '../../../src/host/linux/net/linux-connected-programs.ts';
import type { ByteStream } from '../../../src/host/network.ts';

/** Sends its variable `WORD`, waits for one line, and ends with 3. */
const SHELL = ['-c', 'printf "$WORD" >&3; read line <&3; exit 3'];

/** Leaves a process behind that has the connection. */
const ORPHAN = ['-c', 'sleep 1000 & read line <&3; exit 3'];

function memoryPrograms(): ConnectedPrograms {
  const machine = new MemoryConnectedPrograms();
  machine.programs.set('/bin/sh', async (stream, env) => {
    await stream.write(new TextEncoder().encode(env['WORD'] ?? ''));
    for await (const _line of stream.chunks) break;
    return 3;
  });
  return machine;
}

for (const [name, programs] of [
  ['linux', linuxConnectedPrograms],
  ['memory', memoryPrograms()],
] as const) {
  const start = () => programs.start({ program: '/bin/sh', args: SHELL, env: { WORD: 'hello' } });

  test(`${name} connected program: communicates over descriptor 3, and its exit is reported`, async () => {
    const process = await start();
    assert.equal(await read(process.stream, 5), 'hello');
    await process.stream.write(new TextEncoder().encode('go on\n'));
    assert.deepEqual(await process.exited, { exitCode: 3 });
    process.kill();
  });

  test(`${name} connected program: can be killed`, async () => {
    const process = await start();
    assert.equal(await read(process.stream, 5), 'hello');
    process.kill();
    assert.deepEqual(await process.exited, { exitCode: 137 });
    assert.equal(await read(process.stream, 1), '');
  });

  test(`${name} connected program: its descendants are killed after its own exit too`, async () => {
    const process = await programs.start({ program: '/bin/sh', args: ORPHAN, env: {} });
    await process.stream.write(new TextEncoder().encode('go on\n'));
    assert.deepEqual(await process.exited, { exitCode: 3 });
    process.kill();
    assert.equal(await read(process.stream, 1), '');
    process.kill();
  });

  test(`${name} connected program: a missing program cannot start`, async () => {
    const missing = programs.start({ program: '/no/such/program', args: [], env: {} });
    await assert.rejects(missing, { name: 'ProcessStartError', code: 'ENOENT' });
  });
}

async function read(stream: ByteStream, length: number): Promise<string> {
  let text = '';
  for await (const chunk of stream.chunks) {
    text += new TextDecoder().decode(chunk);
    if (text.length >= length) break;
  }
  return text;
}
