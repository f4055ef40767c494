/** The contract of byte streams on socket files. */
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import type { ByteStream } from '../../../src/host/network.ts';
import { linuxNetworkWorld, memoryNetworkWorld, type NetworkWorld } from './network-worlds.ts';

const never = new AbortController().signal;

streamContract('linux', linuxNetworkWorld);
streamContract('memory', memoryNetworkWorld);

function streamContract(name: string, makeNetwork: (t: TestContext) => Promise<NetworkWorld>): void {
  async function makeWorld(t: TestContext) {
    const world = await makeNetwork(t);
    const socketPath = `${world.root}/socket`;
    const accepted = Promise.withResolvers<ByteStream>();
    const server = await world.network.serveStream({ socketPath, mode: 0o600 }, accepted.resolve);
    t.after(() => server.close());
    const connect = () => world.network.connectStream({ socketPath }, never);
    return { ...world, socketPath, server, accepted: accepted.promise, connect };
  }

  test(`${name} stream: carries bytes both ways, in order`, async (t) => {
    const { connect, accepted } = await makeWorld(t);
    const client = await connect();
    const server = await accepted;
    await client.write(new Uint8Array([1, 2]));
    await client.write(new Uint8Array([3]));
    assert.deepEqual(await take(server, 3), [1, 2, 3]);
    await server.write(new Uint8Array([4, 5]));
    assert.deepEqual(await take(client, 2), [4, 5]);
    client.close();
  });

  test(`${name} stream: the close of one side ends the other`, async (t) => {
    const { connect, accepted } = await makeWorld(t);
    const client = await connect();
    const server = await accepted;
    client.close();
    assert.deepEqual(await all(server), []);
    await assert.rejects(server.write(new Uint8Array([1])), { name: 'NetworkError', code: 'EPIPE' });
  });

  test(`${name} stream: each side ends separately`, async (t) => {
    const { connect, accepted } = await makeWorld(t);
    const client = await connect();
    const server = await accepted;
    await client.write(new Uint8Array([1]));
    client.end();
    client.end();
    await assert.rejects(client.write(new Uint8Array([2])), { name: 'NetworkError', code: 'EPIPE' });
    assert.deepEqual(await all(server), [1]);
    await server.write(new Uint8Array([3]));
    await server.write(new Uint8Array([4]));
    server.end();
    assert.deepEqual(await all(client), [3, 4]);
    client.end();
    server.close();
  });

  test(`${name} stream: pending writes precede the end`, async (t) => {
    const { connect, accepted } = await makeWorld(t);
    const client = await connect();
    const server = await accepted;
    const size = 512 * 1024;
    const written = Array.from({ length: 8 }, () => client.write(new Uint8Array(size)));
    client.end();
    let received = 0;
    for await (const chunk of server.chunks) received += chunk.length;
    assert.equal(received, 8 * size);
    await Promise.all(written);
    server.close();
  });

  test(`${name} stream: closing the server ends its connections and removes the file`, async (t) => {
    const { fs, root, server, connect, accepted, socketPath } = await makeWorld(t);
    const client = await connect();
    await accepted;
    assert.equal((await fs.lstat(socketPath))?.mode, 0o600);
    await server.close();
    assert.deepEqual(await all(client), []);
    assert.deepEqual(await fs.readDirectory(root), []);
    await assert.rejects(connect(), { name: 'NetworkError', code: 'ENOENT' });
  });

  test(`${name} stream: a second server is rejected`, async (t) => {
    const { network, socketPath } = await makeWorld(t);
    const second = network.serveStream({ socketPath, mode: 0o600 }, () => {});
    await assert.rejects(second, { name: 'NetworkError', code: 'EADDRINUSE' });
  });
}

async function take(stream: ByteStream, count: number): Promise<number[]> {
  const bytes: number[] = [];
  for await (const chunk of stream.chunks) {
    bytes.push(...chunk);
    if (bytes.length >= count) break;
  }
  return bytes;
}

async function all(stream: ByteStream): Promise<number[]> {
  return take(stream, Number.POSITIVE_INFINITY);
}
