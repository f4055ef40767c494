/** Exec through the streaming server: real sockets, a real container. */
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { silentLog } from '../../src/base/log.ts';
import type { WebSocketConnection } from '../../src/host/network.ts';
import { serveExec } from '../../src/runtime/streaming/serve-exec.ts';
import { createStreamingServer } from '../../src/runtime/streaming/streaming-server.ts';
import { host, never, OciWorld, preferredProgram, processOf } from './oci-fixture.ts';

const { program, skip } = await preferredProgram();

interface Exec {
  readonly args: readonly string[];
  readonly tty?: boolean;
  readonly stdin?: boolean;
}

/** Connects to the exec of a command in a sleeping container. */
async function execIn(t: TestContext, { args, tty = false, stdin = false }: Exec, protocol: string, signal = never) {
  const world = new OciWorld(program);
  const server = createStreamingServer({ ...host, log: silentLog });
  t.after(async () => {
    await server.close();
    await world.close();
  });
  const runtime = world.runtime();
  const container = world.container(['sleep', '1000']);
  await runtime.start(container, never);
  const streams = { stdin, stdout: true, stderr: !tty, tty };
  const start = (until: AbortSignal) => runtime.exec(container, { ...processOf(args), terminal: tty }, until);
  const url = await server.urlFor('pod1', {
    kind: 'exec',
    streams,
    serve: (client) => serveExec(client, { command: args, streams }, start, host.clock),
  });
  const { hostname, port, pathname } = new URL(url);
  const target = { host: hostname, port: Number(port) };
  return {
    runtime,
    container,
    connection: await host.network.webSocket({ target, path: pathname, protocols: [protocol] }, signal),
  };
}

async function received({ messages }: WebSocketConnection): Promise<Record<number, Buffer>> {
  const chunks: Record<number, Uint8Array[]> = {};
  for await (const message of messages) {
    const [channel = -1] = message;
    chunks[channel] = [...(chunks[channel] ?? []), message.subarray(1)];
  }
  return Object.fromEntries(Object.entries(chunks).map(([channel, parts]) => [channel, Buffer.concat(parts)]));
}

function exitCodeIn(all: Record<number, Buffer>): number {
  const status = JSON.parse(String(all[3]));
  return status.status === 'Success' ? 0 : Number(status.details.causes[0].message);
}

test('exec: both outputs and the exit code', { skip }, async (t) => {
  const { connection } = await execIn(t, { args: ['sh', '-c', 'echo out; echo err >&2; exit 5'] }, 'v4.channel.k8s.io');
  const all = await received(connection);
  assert.deepEqual([String(all[1]), String(all[2]), exitCodeIn(all)], ['out\n', 'err\n', 5]);
});

test('exec: all of a long output, before the end', { skip }, async (t) => {
  const { connection } = await execIn(
    t,
    { args: ['dd', 'if=/proc/self/exe', 'bs=1024', 'count=1024'] },
    'v4.channel.k8s.io',
  );
  const all = await received(connection);
  assert.deepEqual([all[1]?.length, exitCodeIn(all)], [1024 * 1024, 0]);
});

test('exec: an input that ends', { skip }, async (t) => {
  const { connection } = await execIn(t, { args: ['cat'], stdin: true }, 'v5.channel.k8s.io');
  await connection.send(Buffer.from('\0some'));
  await connection.send(Buffer.from('\0thing'));
  await connection.send(Uint8Array.of(255, 0));
  const all = await received(connection);
  assert.deepEqual([String(all[1]), exitCodeIn(all)], ['something', 0]);
});

test("exec: a terminal of the client's size", { skip }, async (t) => {
  const args = ['sh', '-c', 'read line; stty size; exit 7'];
  const { connection } = await execIn(t, { args, tty: true, stdin: true }, 'v4.channel.k8s.io');
  await connection.send(Buffer.from('\x04{"Width":91,"Height":31}'));
  await connection.send(Buffer.from('\0\r'));
  const all = await received(connection);
  assert.match(String(all[1]), /31 91\r\n/);
  assert.equal(exitCodeIn(all), 7);
});

test('exec: the process is killed with its client', { skip }, async (t) => {
  const client = new AbortController();
  const args = ['sh', '-c', 'echo up; exec sleep 2000'];
  const { connection, runtime, container } = await execIn(t, { args }, 'v4.channel.k8s.io', client.signal);
  for await (const message of connection.messages) if (message.length > 1) break;
  client.abort(new Error('gone'));
  const left = async () => {
    const listed = await runtime.execSync(
      container,
      {
        process: processOf(['sh', '-c', 'for f in /proc/[0-9]*/cmdline; do cat $f; echo; done']),
        maxOutputBytes: 65_536,
      },
      never,
    );
    return Buffer.from(listed.stdout).includes('2000');
  };
  while (await left());
});
