import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ByteStream } from '../../host/network.ts';
import { urlTarget } from './fake/command-clients.ts';
import { connectForwarder, readText, type SpdyCarrier, type SpdyForwarder } from './fake/forward-clients.ts';
import { streamingWorld } from './fake/streaming-world.ts';
import { servePortForward } from './serve-port-forward.ts';

const CARRIERS: readonly SpdyCarrier[] = ['spdy', 'webSocket'];
const never = new AbortController().signal;

/** Port 80 answers each chunk with `got …`; 81 answers after the end of the input; 82 reads nothing; 83 sends a lot. */
async function forwardWorld(ports: readonly number[] = []) {
  const world = streamingWorld();
  const { networkNamespaces, clock } = world.host;
  const opened: ByteStream[] = [];
  networkNamespaces.set('/ns', []);
  const listen = (port: number, serve: (stream: ByteStream) => Promise<void>): void =>
    networkNamespaces.listen('/ns', port, (stream) => {
      opened.push(stream);
      void serve(stream).catch(() => {});
    });
  listen(80, async (stream) => {
    for await (const chunk of stream.chunks) await stream.write(Buffer.from(`got ${Buffer.from(chunk)}`));
    stream.end();
  });
  listen(81, async (stream) => {
    await stream.write(Buffer.from(`all of ${await readText(stream.chunks)}`));
    stream.end();
  });
  listen(82, async () => {});
  listen(83, async (stream) => {
    for (let count = 0; count < 64; count++) await stream.write(new Uint8Array(256 * 1024));
    stream.end();
  });
  const url = await world.server.urlFor('pod1', {
    kind: 'portforward',
    ports,
    serve: (client) =>
      servePortForward(
        client,
        { sandboxId: 's1', ports },
        (port, signal) => networkNamespaces.connectLoopback('/ns', port, signal),
        clock,
      ),
  });
  return { ...world, url, opened };
}

async function forwarder(carrier: SpdyCarrier, ports: readonly number[] = []) {
  const world = await forwardWorld(ports);
  return { ...world, client: await connectForwarder(world.host, world.url, carrier) };
}

async function isClosed(stream: ByteStream | undefined): Promise<boolean> {
  if (!stream) return false;
  return stream.write(Uint8Array.of(1)).then(
    () => false,
    () => true,
  );
}

for (const carrier of CARRIERS) {
  const name = carrier === 'spdy' ? 'port-forward by SPDY' : 'port-forward by SPDY in a WebSocket';

  test(`${name}: data in both directions`, async () => {
    const { client } = await forwarder(carrier);
    const { data, error } = await client.connect(80);
    const answers = data.chunks[Symbol.asyncIterator]();
    for (const word of ['one', 'two']) {
      await data.write(Buffer.from(word));
      assert.equal(String(Buffer.from((await answers.next()).value)), `got ${word}`);
    }
    await data.end();
    assert.deepEqual([(await answers.next()).done, await readText(error.chunks)], [true, '']);
  });

  test(`${name}: half-closed connections`, async () => {
    const { client } = await forwarder(carrier);
    const { data, error } = await client.connect(81);
    await data.write(Buffer.from('a request'));
    await data.end();
    assert.deepEqual([await readText(data.chunks), await readText(error.chunks)], ['all of a request', '']);
  });

  test(`${name}: the pod may close first`, async () => {
    const { client, opened, host } = await forwarder(carrier);
    const { data } = await client.connect(82);
    await host.clock.advance(0);
    opened[0]?.end();
    assert.equal(await readText(data.chunks), '');
    await data.write(Buffer.from('still said'));
    await data.end();
    assert.equal(await readText(opened[0]?.chunks ?? []), 'still said');
  });

  test(`${name}: unread data of a closed pod connection does not block other connections`, async () => {
    const { client, opened, host } = await forwarder(carrier);
    const { data } = await client.connect(82);
    const other = await client.connect(81);
    await host.clock.advance(0);
    opened[0]?.close();
    for (let count = 0; count < 8; count++) await data.write(new Uint8Array(512 * 1024));
    await other.data.end();
    assert.equal(await readText(other.data.chunks), 'all of ');
  });

  test(`${name}: many concurrent connections`, async () => {
    const { client } = await forwarder(carrier);
    const answers = Array.from({ length: 100 }, async (_, index) => {
      const { data } = await client.connect(81);
      await data.write(Buffer.from(`request ${index}`));
      await data.end();
      return readText(data.chunks);
    });
    assert.deepEqual(
      await Promise.all(answers),
      answers.map((_, index) => `all of request ${index}`),
    );
  });

  test(`${name}: the error of a failed connection, and the others continue`, async () => {
    const { client } = await forwarder(carrier);
    const { data, error } = await client.connect(8080);
    const why = 'error forwarding port 8080 to pod s1, uid : connect ECONNREFUSED 127.0.0.1:8080';
    assert.deepEqual([await readText(error.chunks), await readText(data.chunks)], [why, '']);
    const other = await client.connect(81);
    await other.data.end();
    assert.equal(await readText(other.data.chunks), 'all of ');
  });

  test(`${name}: only the requested ports`, async () => {
    const { client } = await forwarder(carrier, [80]);
    const { error } = await client.connect(81);
    assert.equal(await readText(error.chunks), 'error forwarding port 81 to pod s1, uid : port was not requested');
  });

  test(`${name}: a client that reads nothing slows the pod down`, async () => {
    const { client, host } = await forwarder(carrier);
    const { data } = await client.connect(83);
    await host.clock.advance(0);
    let received = 0;
    for await (const chunk of data.chunks) received += chunk.length;
    assert.equal(received, 64 * 256 * 1024);
  });

  test(`${name}: a connection that the client resets is closed`, async () => {
    const { client, host, opened } = await forwarder(carrier);
    const { data } = await client.connect(80);
    await data.write(Buffer.from('hi'));
    await host.clock.advance(0);
    await data.reset();
    await host.clock.advance(0);
    assert.equal(await isClosed(opened[0]), true);
  });

  test(`${name}: a connection that the client resets is closed, even if the pod sends nothing`, async () => {
    const { client, host, opened } = await forwarder(carrier);
    const { data } = await client.connect(82);
    await data.write(Buffer.from('hi'));
    await host.clock.advance(0);
    await data.reset();
    await host.clock.advance(0);
    assert.equal(await isClosed(opened[0]), true);
  });

  test(`${name}: the last input of the client is delivered before the pod connection is closed`, async () => {
    const { client, host, opened } = await forwarder(carrier);
    const { data } = await client.connect(82);
    await host.clock.advance(0);
    await data.write(Buffer.from('last words'));
    await host.clock.advance(0);
    client.leave();
    const [pod] = opened;
    assert.equal(await readText(pod?.chunks ?? []), 'last words');
    await host.clock.advance(10_000);
    assert.equal(await isClosed(pod), true);
  });

  test(`${name}: the second stream of a pair has a timeout`, async () => {
    const { client, host } = await forwarder(carrier);
    const error = await client.session.open({ port: ['80'], requestid: ['r'], streamtype: ['error'] }, never);
    await host.clock.advance(29_999);
    assert.equal(await Promise.race([error.closed, 'open']), 'open');
    await host.clock.advance(1);
    assert.equal(await readText(error.chunks), '(request=r) timed out waiting for streams');
  });

  test(`${name}: streams of clients without request ids`, async () => {
    const { client } = await forwarder(carrier);
    const error = await client.session.open({ port: ['81'], streamtype: ['error'] }, never);
    const data = await client.session.open({ port: ['81'], streamtype: ['data'] }, never);
    await data.end();
    assert.deepEqual([await readText(data.chunks), await readText(error.chunks)], ['all of ', '']);
  });
}

const refused: Record<string, Record<string, string[]>> = {
  'without a port': { streamtype: ['data'] },
  'for port 0': { port: ['0'], streamtype: ['data'] },
  'for an invalid port': { port: ['http'], streamtype: ['data'] },
  'for a port above 65535': { port: ['65536'], streamtype: ['data'] },
  'without a type': { port: ['80'] },
  'of another type': { port: ['80'], streamtype: ['stdin'] },
};

for (const [name, headers] of Object.entries(refused)) {
  test(`port-forward by SPDY: a stream ${name} is reset`, async () => {
    const { client } = await forwarder('spdy');
    const stream = await client.session.open(headers, never);
    await stream.closed;
    await stillServes(client);
  });
}

test('port-forward by SPDY: a duplicate stream', async () => {
  const { client } = await forwarder('spdy');
  const open = (streamtype: string) =>
    client.session.open({ port: ['81'], requestid: ['7'], streamtype: [streamtype] }, never);
  const error = await open('error');
  await (await open('error')).closed;
  const data = await open('data');
  await data.end();
  assert.equal(await readText(data.chunks), 'all of ');
  assert.equal(await readText(error.chunks), 'error processing stream for request 7: error stream already assigned');
});

async function stillServes(client: SpdyForwarder): Promise<void> {
  const { data } = await client.connect(81);
  await data.end();
  assert.equal(await readText(data.chunks), 'all of ');
}

for (const protocol of ['v4.channel.k8s.io', 'v4.base64.channel.k8s.io', '']) {
  const name = `port-forward by WebSocket ${protocol || 'without a protocol'}`;
  const isBase64 = protocol.includes('base64');
  const said = (channel: number, text: string) =>
    isBase64 ? `${channel}${Buffer.from(text).toString('base64')}` : String.fromCharCode(channel) + text;
  const connect = async (ports: readonly number[]) => {
    const world = await forwardWorld(ports);
    const request = { ...urlTarget(world.url), protocols: protocol === '' ? [] : [protocol] };
    const connection = await world.host.network.webSocket(request, never);
    const messages = connection.messages[Symbol.asyncIterator]();
    const next = async (): Promise<string> => Buffer.from((await messages.next()).value).toString('latin1');
    return { ...world, connection, messages, next };
  };

  test(`${name}: sends each port on its two channels, then forwards its data`, async () => {
    const { connection, next } = await connect([80, 81]);
    const names = [await next(), await next(), await next(), await next()];
    assert.deepEqual(names, [said(0, 'P\0'), said(1, 'P\0'), said(2, 'Q\0'), said(3, 'Q\0')]);
    await connection.send(isBase64 ? said(0, 'hi') : Buffer.from(said(0, 'hi')));
    assert.equal(await next(), said(0, 'got hi'));
    connection.close();
  });

  test(`${name}: sends the error of a failed connection on the error channel, and closes`, async () => {
    const { next, messages } = await connect([8080]);
    await next();
    await next();
    const why = 'error forwarding port 8080 to pod s1, uid : connect ECONNREFUSED 127.0.0.1:8080';
    assert.equal(await next(), said(1, why));
    assert.equal((await messages.next()).done, true);
  });

  test(`${name}: closes when the pod has closed`, async () => {
    const { next, messages, opened, host } = await connect([82]);
    await next();
    await next();
    await host.clock.advance(0);
    opened[0]?.end();
    assert.equal((await messages.next()).done, true);
  });

  test(`${name}: closes the connection to a pod that reads nothing a while after its client has left`, async () => {
    const { connection, opened, host } = await connect([82]);
    await host.clock.advance(0);
    const flood = Buffer.from(said(0, 'x'.repeat(900_000)));
    for (let count = 0; count < 3; count++) await connection.send(flood);
    await host.clock.advance(0);
    connection.close();
    await host.clock.advance(9_999);
    assert.equal(await isClosed(opened[0]), false);
    await host.clock.advance(1);
    assert.equal(await isClosed(opened[0]), true);
  });
}

test('port-forward by WebSocket without ports closes at once', async () => {
  const { host, url } = await forwardWorld();
  const connection = await host.network.webSocket({ ...urlTarget(url), protocols: ['v4.channel.k8s.io'] }, never);
  assert.deepEqual(await Array.fromAsync(connection.messages), []);
});
