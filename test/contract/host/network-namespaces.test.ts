/** The contract of network namespaces. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readlink } from 'node:fs/promises';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { MemoryNetworkNamespaces } from '../../../src/host/fake/memory-network-namespaces.ts';
import { createLinuxNamespaces } from '../../../src/host/linux/namespace/linux-namespaces.ts';
import { createLinuxNetworkNamespaces } from '../../../src/host/linux/namespace/linux-network-namespaces.ts';
import { createNamespaceThreadClient } from '../../../src/host/linux/namespace/namespace-thread-client.ts';
import type { NetworkNamespaces } from '../../../src/host/network-namespaces.ts';
import { temporaryFolder } from './temporary-folder.ts';

interface World {
  readonly networks: NetworkNamespaces;
  /** The file of a network with a loopback. */
  readonly file: string;
  readonly missing: string;
  /** Starts an echo server on a loopback port of the network. */
  echo(): Promise<number>;
}

const never = new AbortController().signal;
const notRoot = process.getuid?.() === 0 ? false : 'needs root';

contract('linux', linuxWorld, notRoot);
contract('memory', memoryWorld, false);

async function linuxWorld(t: TestContext): Promise<World> {
  const undo: (() => Promise<unknown>)[] = [];
  t.after(async () => {
    for (const step of undo.reverse()) await step();
  }); // before the folder's own: these run in the order of asking
  const folder = await temporaryFolder(t);
  const file = join(folder, 'net');
  const namespaceThread = createNamespaceThreadClient();
  const namespaces = createLinuxNamespaces(namespaceThread);
  await namespaces.create({ files: { network: file } });
  undo.push(() => namespaces.remove([file]));
  return {
    networks: createLinuxNetworkNamespaces(namespaceThread),
    file,
    missing: join(folder, 'none'),
    echo: async () => {
      const script = `const s = require('net').createServer((c) => c.pipe(c)).listen(0, '127.0.0.1', () => console.log(s.address().port))`;
      const child = spawn('nsenter', [`--net=${file}`, process.execPath, '-e', script], {
        stdio: ['ignore', 'pipe', 'inherit'],
      });
      const ended = once(child, 'close');
      undo.push(() => {
        child.kill('SIGKILL');
        return ended;
      });
      const [line] = await once(child.stdout.setEncoding('utf8'), 'data');
      return Number(line);
    },
  };
}

async function memoryWorld(): Promise<World> {
  const networks = new MemoryNetworkNamespaces();
  networks.set('/ns/net', []);
  return {
    networks,
    file: '/ns/net',
    missing: '/ns/none',
    echo: async () => {
      networks.listen('/ns/net', 80, (stream) => {
        void (async () => {
          for await (const chunk of stream.chunks) await stream.write(chunk);
          stream.end();
        })();
      });
      return 80;
    },
  };
}

function contract(name: string, makeWorld: (t: TestContext) => Promise<World>, skip: string | false): void {
  test(`${name} network namespaces: returns the interfaces of each existing network`, { skip }, async (t) => {
    const { networks, file, missing } = await makeWorld(t);
    const none = { bytes: 0n, packets: 0n, errors: 0n, dropped: 0n };
    const found = await networks.interfaces([missing, file]);
    assert.deepEqual([...found], [[file, [{ name: 'lo', received: none, sent: none }]]]);
  });

  test(`${name} network namespaces: connects to a listener in the network`, { skip }, async (t) => {
    const { networks, file, echo } = await makeWorld(t);
    const stream = await networks.connectLoopback(file, await echo(), never);
    await stream.write(new TextEncoder().encode('grüß'));
    const { value } = await stream.chunks[Symbol.asyncIterator]().next();
    assert.equal(new TextDecoder().decode(value), 'grüß');
    stream.close();
  });

  test(`${name} network namespaces: carries much data, and each side of a connection ends separately`, {
    skip,
  }, async (t) => {
    const { networks, file, echo } = await makeWorld(t);
    const stream = await networks.connectLoopback(file, await echo(), never);
    const sent = Buffer.from(Uint8Array.from({ length: 1_000_000 }, (_, index) => index % 251));
    const sending = stream.write(sent).then(() => stream.end());
    const received: Uint8Array[] = [];
    for await (const chunk of stream.chunks) received.push(Uint8Array.from(chunk)); // a chunk is valid until the next one is requested
    await sending;
    assert.ok(Buffer.concat(received).equals(sent));
    stream.close();
  });

  test(`${name} network namespaces: rejects with the reason when it cannot connect`, { skip }, async (t) => {
    const { networks, file, missing } = await makeWorld(t);
    const refused = { name: 'NetworkError', code: 'ECONNREFUSED' };
    await assert.rejects(networks.connectLoopback(file, 1, never), refused);
    await assert.rejects(networks.connectLoopback(missing, 1, never), { name: 'NetworkError', code: 'ENOENT' });
    const aborted = AbortSignal.abort(new Error('enough'));
    await assert.rejects(networks.connectLoopback(file, 1, aborted), { message: 'enough' });
  });
}

test('linux network namespaces: the process stays in its own network', { skip: notRoot }, async (t) => {
  const { networks, file } = await linuxWorld(t);
  const network = (): Promise<string> => readlink('/proc/self/ns/net'); // of the main thread, seen from another
  const before = await network();
  let isLooking = true;
  const looking = networks.interfaces(Array.from({ length: 1000 }, () => file)).finally(() => {
    isLooking = false;
  });
  const seen = new Set<string>();
  while (isLooking) seen.add(await network());
  await looking;
  assert.deepEqual(seen, new Set([before]));
});
