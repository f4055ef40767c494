import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createMemoryHost } from '../../host/fake/memory-host.ts';
import { eventLoopTurn } from '../../host/linux/process/event-loop-turn.ts';
import type { PacketConnection } from '../../host/packet-sockets.ts';
import { attachContainer } from './attach-container.ts';

const never = new AbortController().signal;
const container = { id: 'c1', bundle: '/run/containers/c1' };
const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);
const packet = (stream: number, text: string): Uint8Array => Uint8Array.of(stream, ...bytes(text));

/** A container with a monitor that has these flags and accepts all clients. */
async function worldWith(flags: readonly string[]) {
  const { fs, processes, packetSockets } = createMemoryHost();
  processes.install('/usr/bin/conmon', () => new Promise(() => {}));
  processes.install('/bin/sh', () => new Promise(() => {}));
  const monitor = await processes.startDaemon({ program: '/usr/bin/conmon', args: [], logFile: '/log' });
  const first = await processes.startDaemon({ program: '/bin/sh', args: [], logFile: '/log' });
  const files = {
    [`${container.bundle}/conmon.pid`]: `${monitor.pid}`,
    [`${container.bundle}/pidfile`]: `${first.pid}`,
    [`/proc/${monitor.pid}/cmdline`]: ['conmon', '-c', container.id, '-b', container.bundle, ...flags].join('\0'),
    [`/proc/${first.pid}/status`]: `Name:\tsh\nPPid:\t${monitor.pid}\n`,
  };
  for (const [path, text] of Object.entries(files)) {
    await fs.makeDirectory(path.slice(0, path.lastIndexOf('/')));
    await fs.writeFile(path, text);
  }
  const peers: PacketConnection[] = [];
  packetSockets.listen(`${container.bundle}/attach`, (peer) => peers.push(peer));
  const attach = async () => {
    const attached = await attachContainer(container, { fs, processes, packetSockets }, never);
    const peer = peers.at(-1);
    assert.ok(peer);
    return { attached, peer };
  };
  return { attach, processes, monitor, first };
}

async function all<T>(items: AsyncIterable<T>): Promise<readonly T[]> {
  const found: T[] = [];
  for await (const item of items) found.push(item);
  return found;
}

test('attachContainer() separates the streams, until the monitor closes', async () => {
  const { attach } = await worldWith(['-i']);
  const { attached, peer } = await attach();
  await peer.send(packet(2, 'out'));
  await peer.send(packet(3, 'err'));
  peer.close();
  assert.deepEqual(await all(attached.output), [
    { stream: 'stdout', data: bytes('out') },
    { stream: 'stderr', data: bytes('err') },
  ]);
  await attached.write(bytes('this is not read'));
  attached.detach();
});

test('attachContainer() splits input into packets for the monitor, and ends it', async () => {
  const { attach } = await worldWith(['-i']);
  const { attached, peer } = await attach();
  const typed = 'x'.repeat(20_000);
  await attached.write(bytes(typed));
  await attached.write(new Uint8Array());
  attached.closeInput();
  const packets = await all(peer.packets);
  assert.deepEqual(
    packets.map(({ byteLength }) => byteLength),
    [8192, 8192, 20_000 - 2 * 8192],
  );
  attached.detach();
});

test('attachContainer() sends nothing to a container without input', async () => {
  const { attach } = await worldWith([]);
  const { attached, peer } = await attach();
  await attached.write(bytes('x'));
  attached.closeInput();
  attached.detach();
  attached.detach();
  assert.deepEqual([await all(peer.packets), await all(attached.output)], [[], []]);
});

test('attachContainer() blocks the monitor for a slow reader, but not after the container has ended', async () => {
  const { attach, processes, first } = await worldWith([]);
  const { attached, peer } = await attach();
  const count = 1000;
  let sent = 0;
  const sending = (async () => {
    for (; sent < count; sent++) await peer.send(packet(2, `${sent}`.padEnd(8192)));
    peer.close();
  })();
  for (let before = -1; sent !== before; ) {
    before = sent;
    for (let turns = 0; turns < 20; turns++) await eventLoopTurn();
  }
  assert.ok(sent < count, `${sent} were taken`);
  await processes.kill(first, 'SIGKILL');
  await sending;
  assert.equal((await all(attached.output)).length, count);
});

const rejected: Record<string, (world: Awaited<ReturnType<typeof worldWith>>) => Promise<void>> = {
  'a container that has ended': ({ processes, first }) => processes.kill(first, 'SIGKILL'),
  'a monitor that has exited': ({ processes, monitor }) => processes.kill(monitor, 'SIGKILL'),
};

for (const [name, before] of Object.entries(rejected)) {
  test(`attachContainer() rejects ${name}`, async () => {
    const world = await worldWith([]);
    await before(world);
    await eventLoopTurn();
    await assert.rejects(world.attach(), { name: 'OciError', message: 'container c1 is not running' });
  });
}
