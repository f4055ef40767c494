/** The contract of packet sockets. */
import assert from 'node:assert/strict';
import { closeSync, mkdirSync, readdirSync } from 'node:fs';
import { type TestContext, test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { MemoryPacketSockets } from '../../../src/host/fake/memory-packet-sockets.ts';
import { linuxPacketSockets } from '../../../src/host/linux/net/linux-packet-sockets.ts';
import { packetConnection } from '../../../src/host/linux/net/packet-connection.ts';
import { accept, bind, listen, socket, unixAddress } from '../../../src/host/linux/sys/socket-calls.ts';
import type { PacketConnection, PacketSockets } from '../../../src/host/packet-sockets.ts';
import { temporaryFolder } from './temporary-folder.ts';

interface PacketWorld {
  readonly sockets: PacketSockets;
  readonly path: string;
  /** Listens, as another program; `accept` returns the next connection. */
  listen(): { accept(): PacketConnection; close(): void };
}

const never = new AbortController().signal;
const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);

packetsContract('linux', async (t) => {
  const path = `${await temporaryFolder(t)}/socket`;
  return { sockets: linuxPacketSockets, path, listen: () => listenOn(path, 10) };
});
packetsContract('memory', async () => {
  const [sockets, path] = [new MemoryPacketSockets(), '/run/socket'];
  const listen = () => {
    const waiting: PacketConnection[] = [];
    const { close } = sockets.listen(path, (peer) => waiting.push(peer));
    return { accept: () => present(waiting.shift()), close };
  };
  return { sockets, path, listen };
});

const CLOSE_ON_EXEC = 0o2000000;
const NON_BLOCKING = 0o4000;

function listenOn(path: string, backlog: number) {
  const address = unixAddress(path);
  const fd = socket(1, 5 | CLOSE_ON_EXEC | NON_BLOCKING, 0);
  bind(fd, address, address.byteLength);
  listen(fd, backlog);
  return {
    /** Throws EAGAIN when no client has connected. */
    accept: () => packetConnection(accept(fd, CLOSE_ON_EXEC | NON_BLOCKING)),
    close: () => closeSync(fd),
  };
}

function present<T>(value: T | undefined): T {
  assert.ok(value !== undefined);
  return value;
}

async function all(packets: AsyncIterable<Uint8Array>): Promise<readonly string[]> {
  const texts: string[] = [];
  for await (const packet of packets) texts.push(new TextDecoder().decode(packet));
  return texts;
}

function packetsContract(name: string, makeWorld: (t: TestContext) => Promise<PacketWorld>): void {
  const packetTest = (title: string, run: (world: PacketWorld) => Promise<void>): void => {
    test(`${name} packet sockets: ${title}`, async (t) => run(await makeWorld(t)));
  };

  packetTest('connecting without a listener fails', async ({ sockets, path }) => {
    await assert.rejects(sockets.connect(path, never), { name: 'NetworkError', code: 'ENOENT' });
    await assert.rejects(sockets.connect(path, AbortSignal.abort(new Error('enough'))), { message: 'enough' });
  });

  packetTest(
    'packets keep their boundaries both ways, also before they are read',
    async ({ sockets, path, listen }) => {
      const listener = listen();
      const ours = await sockets.connect(path, never);
      const theirs = listener.accept();
      const sent = ['a', 'b'.repeat(8193), '', 'c', 'd'.repeat(32 * 1024)];
      await Promise.all(sent.map((text) => ours.send(bytes(text))));
      for (const text of sent) await theirs.send(bytes(text));
      ours.end();
      theirs.end();
      await turn();
      const expected = sent.filter((text) => text !== '');
      assert.deepEqual(await Promise.all([all(theirs.packets), all(ours.packets)]), [expected, expected]);
      for (const each of [ours, theirs, listener]) each.close();
    },
  );

  packetTest('reading continues after the end of sending', async ({ sockets, path, listen }) => {
    const listener = listen();
    const ours = await sockets.connect(path, never);
    const theirs = listener.accept();
    void ours.send(bytes('last'));
    ours.end();
    ours.end();
    assert.deepEqual(await all(theirs.packets), ['last']);
    await assert.rejects(ours.send(bytes('more')), { name: 'NetworkError' });
    await theirs.send(bytes('answer'));
    theirs.close();
    assert.deepEqual(await all(ours.packets), ['answer']);
    for (const each of [ours, listener]) each.close();
  });

  packetTest('a slow reader slows the sender down without loss', async ({ sockets, path, listen }) => {
    const listener = listen();
    const ours = await sockets.connect(path, never);
    const theirs = listener.accept();
    const count = 500;
    let sent = 0;
    const sending = (async () => {
      for (; sent < count; sent++) await theirs.send(bytes(`${sent} `.padEnd(8192, '.')));
      theirs.end();
    })();
    // Until the sender is blocked: nothing is read.
    for (let before = -1, idle = 0; idle < 50; idle = sent === before ? idle + 1 : 0) {
      before = sent;
      await turn();
    }
    assert.ok(sent < count, `${sent} were sent`);
    const texts = await all(ours.packets);
    await sending;
    assert.deepEqual(
      texts.map((text) => Number.parseInt(text, 10)),
      Array.from({ length: count }, (_, index) => index),
    );
    for (const each of [ours, theirs, listener]) each.close();
  });

  packetTest('the close of the peer is noticed, and sending then fails', async ({ sockets, path, listen }) => {
    const listener = listen();
    const ours = await sockets.connect(path, never);
    listener.accept().close();
    assert.deepEqual(await all(ours.packets), []);
    await assert.rejects(ours.send(bytes('x')), { name: 'NetworkError' });
    ours.close();
    await assert.rejects(ours.send(bytes('x')), { name: 'NetworkError' });
    listener.close();
  });

  packetTest('our own close too, also with a pending send', async ({ sockets, path, listen }) => {
    const listener = listen();
    const ours = await sockets.connect(path, never);
    const theirs = listener.accept();
    const reading = all(ours.packets);
    const sendForever = async (): Promise<never> => {
      for (;;) await ours.send(bytes('x'.repeat(8192)));
    };
    const refused = assert.rejects(sendForever(), { name: 'NetworkError' });
    await turn();
    ours.close();
    ours.close();
    assert.deepEqual(await reading, []);
    await refused;
    for (const each of [theirs, listener]) each.close();
  });
}

test('linux packet sockets: the path may be long, a name in it may not', async (t) => {
  const folder = `${await temporaryFolder(t)}/${'long/'.repeat(60)}`;
  mkdirSync(folder, { recursive: true });
  const here = process.cwd();
  process.chdir(folder);
  const listener = listenOn('socket', 10);
  process.chdir(here);
  const ours = await linuxPacketSockets.connect(`${folder}socket`, never);
  await ours.send(bytes('hello'));
  ours.close();
  assert.deepEqual(await all(listener.accept().packets), ['hello']);
  listener.close();
  await assert.rejects(linuxPacketSockets.connect(`/tmp/${'x'.repeat(120)}`, never), { code: 'ENAMETOOLONG' });
});

test('linux packet sockets: connecting waits for a listener with a full backlog', async (t) => {
  const path = `${await temporaryFolder(t)}/socket`;
  const listener = listenOn(path, 0);
  const before = readdirSync('/proc/self/fd').length;
  const controller = new AbortController();
  const connecting = Array.from({ length: 5 }, () => linuxPacketSockets.connect(path, controller.signal));
  const theirs: PacketConnection[] = [];
  // One is in the backlog, the others wait one after the other.
  for (const each of connecting.slice(0, 4)) {
    const ours = await each;
    theirs.push(listener.accept());
    ours.close();
  }
  const last = present(connecting.at(-1));
  await last.then((ours) => ours.close());
  theirs.push(listener.accept());
  await Promise.all(theirs.map((each) => all(each.packets)));
  for (const each of theirs) each.close();
  const blocker = await linuxPacketSockets.connect(path, never);
  const refused = linuxPacketSockets.connect(path, controller.signal);
  controller.abort(new Error('enough'));
  await assert.rejects(refused, { message: 'enough' });
  blocker.close();
  await turn();
  assert.equal(readdirSync('/proc/self/fd').length, before);
  listener.close();
});
