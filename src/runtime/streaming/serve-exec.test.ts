import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type MemoryExec, memoryExecStreams } from '../oci/fake/memory-exec.ts';
import type { ExecStreams } from '../oci/oci-runtime.ts';
import type { CommandStreams } from './command-client.ts';
import { COMMAND_TRANSPORTS, type CommandTransport, connectCommandClient } from './fake/command-clients.ts';
import { streamingWorld } from './fake/streaming-world.ts';
import { serveExec } from './serve-exec.ts';

const OUTPUT: CommandStreams = { stdin: false, stdout: true, stderr: true, tty: false };
const ALL: CommandStreams = { ...OUTPUT, stdin: true };
const TERMINAL: CommandStreams = { stdin: true, stdout: true, stderr: false, tty: true };
const SUCCESS = '{"metadata":{},"status":"Success"}';

async function execClient(
  transport: CommandTransport,
  script: MemoryExec | (() => Promise<ExecStreams>),
  streams: CommandStreams = OUTPUT,
) {
  const world = streamingWorld();
  const start = typeof script === 'function' ? script : async () => memoryExecStreams(script, world.host.clock);
  const url = await world.server.urlFor('pod1', {
    kind: 'exec',
    streams,
    serve: (client) => serveExec(client, { command: ['cmd'], streams }, start, world.host.clock),
  });
  return { ...world, client: await connectCommandClient(world.host, url, transport, streams) };
}

function pending(): Promise<never> {
  return new Promise(() => {});
}

/** Runs until it is killed. */
function endlessExec(change: Partial<ExecStreams> = {}): ExecStreams {
  const { promise: exited, resolve } = Promise.withResolvers<number>();
  async function* silence(): AsyncGenerator<Uint8Array> {
    await exited;
    yield* [];
  }
  return {
    stdout: silence(),
    stderr: silence(),
    write: async () => {},
    closeInput: () => {},
    resize: async () => {},
    exited,
    kill: async () => resolve(137),
    ...change,
  };
}

for (const transport of COMMAND_TRANSPORTS) {
  const name = `exec by ${transport.carrier} ${transport.protocol || 'without a protocol'}`;
  const success = transport.outcome === 'status' ? SUCCESS : '';

  test(`${name}: both outputs, then the outcome`, async () => {
    const { host, client } = await execClient(transport, { exitCode: 0, stdout: 'out', stderr: 'err' });
    const all = client.received();
    await host.clock.runUntilIdle();
    assert.deepEqual(await all, { stdout: 'out', stderr: 'err', error: success });
  });

  test(`${name}: only the requested output`, async () => {
    const streams = { ...OUTPUT, stderr: false };
    const { host, client } = await execClient(transport, { exitCode: 0, stdout: 'out', stderr: 'err' }, streams);
    const all = client.received();
    await host.clock.runUntilIdle();
    assert.deepEqual(await all, { stdout: 'out', stderr: '', error: success });
  });

  test(`${name}: the exit code`, async () => {
    const { host, client } = await execClient(transport, { exitCode: 7 });
    const all = client.received();
    await host.clock.runUntilIdle();
    const { error } = await all;
    const message = 'command terminated with non-zero exit code: error executing command [cmd], exit code 7';
    if (transport.outcome === 'text') assert.equal(error, message);
    else assert.deepEqual(JSON.parse(error).details, { causes: [{ reason: 'ExitCode', message: '7' }] });
  });

  test(`${name}: the error of a failed start`, async () => {
    const { client } = await execClient(transport, () => Promise.reject(new Error('no such file')));
    const { error } = await client.received();
    assert.match(error, /Internal error occurred: error executing command in container: no such file/);
  });

  test(`${name}: without stdin the input of the process ends at once`, async () => {
    const { client } = await execClient(transport, { exitCode: 0, echoes: true });
    assert.deepEqual(await client.received(), { stdout: '', stderr: '', error: success });
  });

  test(`${name}: the process is killed when its client leaves`, async () => {
    const process = endlessExec();
    const { host, client } = await execClient(transport, async () => process, ALL);
    await client.type('typed');
    await host.clock.advance(0);
    client.leave();
    assert.equal(await process.exited, 137);
  });

  test(`${name}: a client that leaves before the process runs`, async () => {
    const asked = Promise.withResolvers<void>();
    const world = streamingWorld();
    const aborted = Promise.withResolvers<void>();
    const start = (signal: AbortSignal): Promise<ExecStreams> => {
      asked.resolve();
      return new Promise((_, reject) => {
        signal.addEventListener('abort', () => {
          reject(signal.reason);
          aborted.resolve();
        });
      });
    };
    const serve = (client: Parameters<typeof serveExec>[0]) =>
      serveExec(client, { command: ['cmd'], streams: OUTPUT }, start, world.host.clock);
    const url = await world.server.urlFor('pod1', { kind: 'exec', streams: OUTPUT, serve });
    const client = await connectCommandClient(world.host, url, transport, OUTPUT);
    await asked.promise;
    client.leave();
    await aborted.promise;
  });

  test(`${name}: a client that reads nothing blocks only its process`, async () => {
    let written = 0;
    async function* flood(): AsyncGenerator<Uint8Array> {
      for (; written < 64; written++) yield new Uint8Array(256 * 1024);
    }
    const script = async () =>
      endlessExec({ stdout: flood(), stderr: (async function* () {})(), exited: Promise.resolve(0) });
    const { host, client } = await execClient(transport, script, ALL);
    await host.clock.advance(0);
    assert.ok(written > 0 && written < 30, `${written} chunks were accepted`);
    const { stdout } = await client.received();
    assert.deepEqual([stdout.length, written], [64 * 256 * 1024, 64]);
  });

  test(`${name}: output is forwarded while the input is not read`, async () => {
    const stuck = endlessExec({
      stdout: (async function* () {
        yield Buffer.from('out');
      })(),
      stderr: (async function* () {})(),
      write: pending,
      exited: Promise.resolve(3),
    });
    const { host, client } = await execClient(transport, async () => stuck, ALL);
    for (let count = 0; count < 3; count++) await client.type('x'.repeat(100_000));
    await host.clock.advance(0);
    const { stdout, error } = await client.received();
    assert.equal(stdout, 'out');
    assert.match(error, /exit code 3/);
  });

  test(`${name}: a process that reads nothing is killed a while after its client has left`, async () => {
    const process = endlessExec({ write: pending });
    const { host, client } = await execClient(transport, async () => process, ALL);
    await client.type('typed');
    await host.clock.advance(0);
    client.leave();
    await host.clock.advance(9_999);
    assert.equal(await Promise.race([process.exited, 'runs']), 'runs');
    await host.clock.advance(1);
    assert.equal(await process.exited, 137);
  });

  test(`${name}: a session without traffic for four hours is closed`, async () => {
    const process = endlessExec();
    const { host, client } = await execClient(transport, async () => process, ALL);
    await host.clock.advance(3_600_000);
    await client.type('still here');
    await host.clock.advance(4 * 3_600_000 - 1);
    assert.equal(await Promise.race([process.exited, 'runs']), 'runs');
    await host.clock.advance(1);
    assert.equal(await process.exited, 137);
  });
}

for (const transport of COMMAND_TRANSPORTS.filter(({ canEndInput }) => canEndInput)) {
  test(`exec by ${transport.carrier} ${transport.protocol}: the output continues after the end of the input`, async () => {
    const { client } = await execClient(transport, { exitCode: 0, echoes: true }, ALL);
    await client.type('typed');
    await client.endInput();
    assert.equal((await client.received()).stdout, 'typed');
  });
}

for (const transport of COMMAND_TRANSPORTS.filter(({ canResize }) => canResize)) {
  test(`exec by ${transport.carrier} ${transport.protocol}: terminal sizes`, async () => {
    const sizes: unknown[] = [];
    const resize = async ({ width, height }: { width: number; height: number }): Promise<void> => {
      sizes.push([width, height]);
    };
    const { host, client } = await execClient(transport, async () => endlessExec({ resize }), TERMINAL);
    await client.resize('{"Width":80,');
    await client.resize('"Height":24}');
    await host.clock.advance(0);
    await client.resize('{"Width":81,"Height":25}');
    await host.clock.advance(0);
    client.leave();
    assert.deepEqual(sizes, [
      [80, 24],
      [81, 25],
    ]);
  });
}

test('exec: a failed resize does not end the session', async () => {
  const [transport] = COMMAND_TRANSPORTS;
  assert.ok(transport);
  const process = { ...memoryExecStreams({ exitCode: 0, echoes: true }, streamingWorld().host.clock) };
  process.resize = () => Promise.reject(new Error('no terminal'));
  const { host, client } = await execClient(transport, async () => process, TERMINAL);
  await client.resize('{"Width":80,"Height":24}');
  await host.clock.advance(0);
  await client.type('typed');
  await client.endInput();
  assert.equal((await client.received()).stdout, 'typed');
});
