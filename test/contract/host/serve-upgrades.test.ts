/** The contract of upgrade servers. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createConnection } from 'node:net';
import { type TestContext, test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { WebSocket } from 'ws';
import type {
  ByteStream,
  HttpResponse,
  IncomingUpgrade,
  Network,
  UpgradeHandler,
  WebSocketConnection,
} from '../../../src/host/network.ts';
import type { UpgradeRejectedError } from '../../../src/host/upgrade-rejected-error.ts';
import { linuxNetworkWorld, memoryNetworkWorld, type NetworkWorld } from './network-worlds.ts';

const never = new AbortController().signal;

serveUpgradesContract('linux', linuxNetworkWorld);
serveUpgradesContract('memory', memoryNetworkWorld);

async function served(t: TestContext, network: Network, handler: UpgradeHandler) {
  const server = await network.serveUpgrades(handler);
  t.after(() => server.close());
  return { server, target: { host: '127.0.0.1', port: server.port } };
}

async function echo(connection: WebSocketConnection): Promise<void> {
  for await (const message of connection.messages) await connection.send(message);
}

async function answerWhole(stream: ByteStream): Promise<void> {
  const received = await Array.fromAsync(stream.chunks);
  for (const chunk of received) await stream.write(chunk);
  stream.end();
}

async function textOf({ body }: HttpResponse): Promise<string> {
  return Buffer.concat(await Array.fromAsync(body)).toString();
}

function serveUpgradesContract(name: string, makeWorld: (t: TestContext) => Promise<NetworkWorld>): void {
  test(`${name} upgrade server: decides by the request, and uses the chosen protocol`, async (t) => {
    const { network } = await makeWorld(t);
    const offers: IncomingUpgrade[] = [];
    const { target } = await served(t, network, (offer) => {
      offers.push(offer);
      return { kind: 'webSocket', protocol: 'v4', serve: (connection) => void echo(connection) };
    });
    const connection = await network.webSocket({ target, path: '/exec/t?a=1', protocols: ['v5', 'v4'] }, never);
    assert.equal(connection.protocol, 'v4');
    const messages = connection.messages[Symbol.asyncIterator]();
    for (const message of [Uint8Array.of(0, 255), new Uint8Array(300_000).fill(7)]) {
      await connection.send(message);
      assert.deepEqual(new Uint8Array((await messages.next()).value), message);
    }
    connection.close();
    const [{ path, query, upgrade, protocols } = {}] = offers;
    assert.deepEqual(
      { path, a: query?.get('a'), upgrade, protocols, asked: offers.length },
      { path: '/exec/t', a: '1', upgrade: 'websocket', protocols: ['v5', 'v4'], asked: 1 },
    );
  });

  test(`${name} upgrade server: a rejection is an HTTP response`, async (t) => {
    const { network } = await makeWorld(t);
    const { target } = await served(t, network, ({ upgrade }) => ({
      kind: 'refuse',
      status: 404,
      message: `no ${upgrade}`,
      headers: [['X-Reason', 'none']],
    }));
    const refused = network.webSocket({ target, path: '/', protocols: ['v4'] }, never);
    await assert.rejects(refused, { name: 'NetworkError', code: 'EPROTO' });
    const headers = [
      ['Connection', 'Upgrade'],
      ['Upgrade', 'SPDY/3.1'],
    ] as const;
    const answer = await network.request({ target, method: 'POST', path: '/', headers }, never);
    assert.deepEqual([answer.status, answer.headers['x-reason'], await textOf(answer)], [404, 'none', 'no SPDY/3.1']);
    const spdy = network.upgrade({ target, method: 'POST', path: '/', upgrade: 'SPDY/3.1' }, never);
    const { bodyText, headers: responseHeaders } = await spdy.then(
      () => assert.fail(),
      (error: UpgradeRejectedError) => error,
    );
    assert.deepEqual([bodyText, responseHeaders['x-reason']], ['no SPDY/3.1', 'none']);
    await assert.rejects(spdy, { name: 'NetworkError', code: 'EPROTO', message: /404.*no SPDY\/3\.1/ });
  });

  test(`${name} upgrade server: an upgrade that was not requested is rejected`, async (t) => {
    const { network } = await makeWorld(t);
    const { target } = await served(t, network, () => ({
      kind: 'webSocket',
      protocol: '',
      serve: () => assert.fail(),
    }));
    const answer = await network.request({ target, method: 'GET', path: '/' }, never);
    assert.equal(answer.status, 400);
    const spdy = network.upgrade({ target, method: 'POST', path: '/', upgrade: 'SPDY/3.1' }, never);
    await assert.rejects(spdy, { name: 'NetworkError', code: 'EPROTO', message: /400/ });
  });

  test(`${name} upgrade server: a WebSocket is not upgraded to a byte stream`, async (t) => {
    const { network } = await makeWorld(t);
    const { target } = await served(t, network, () => ({ kind: 'stream', serve: () => assert.fail() }));
    const refused = network.webSocket({ target, path: '/', protocols: ['v4'] }, never);
    await assert.rejects(refused, { name: 'NetworkError', code: 'EPROTO' });
  });

  test(`${name} upgrade server: upgrades a connection to a byte stream whose sides end separately`, async (t) => {
    const { network } = await makeWorld(t);
    const offers: IncomingUpgrade[] = [];
    const { target } = await served(t, network, (offer) => {
      offers.push(offer);
      return { kind: 'stream', headers: [['X-Chosen', 'v4']], serve: (stream) => void answerWhole(stream) };
    });
    const headers = [
      ['X-Stream-Protocol-Version', 'v5'],
      ['X-Stream-Protocol-Version', 'v4, v3'],
    ] as const;
    const request = { target, method: 'POST', path: '/exec/t?a=1', upgrade: 'SPDY/3.1', headers } as const;
    const connection = await network.upgrade(request, never);
    assert.deepEqual([connection.headers['upgrade'], connection.headers['x-chosen']], ['SPDY/3.1', 'v4']);
    await connection.stream.write(Uint8Array.of(1, 2));
    await connection.stream.write(new Uint8Array(300_000).fill(7));
    connection.stream.end();
    const received = Buffer.concat(await Array.fromAsync(connection.stream.chunks));
    assert.deepEqual([received.length, received[0], received[300_001]], [300_002, 1, 7]);
    const [{ path, query, upgrade, protocols } = {}] = offers;
    assert.deepEqual(
      { path, a: query?.get('a'), upgrade, protocols, asked: offers.length },
      { path: '/exec/t', a: '1', upgrade: 'SPDY/3.1', protocols: ['v5', 'v4', 'v3'], asked: 1 },
    );
  });

  test(`${name} upgrade server: a stream ends with the client's signal, or with the server`, async (t) => {
    const { network } = await makeWorld(t);
    const streams: ByteStream[] = [];
    const serve = (stream: ByteStream): void => void streams.push(stream);
    const { server, target } = await served(t, network, () => ({ kind: 'stream', serve }));
    const request = { target, method: 'GET', path: '/', upgrade: 'SPDY/3.1' } as const;
    const client = new AbortController();
    const first = await network.upgrade(request, client.signal);
    const second = await network.upgrade(request, never);
    client.abort(new Error('gone'));
    assert.deepEqual(await Array.fromAsync(streams[0]?.chunks ?? []), []);
    await assert.rejects(first.stream.write(Uint8Array.of(1)), { code: 'EPIPE' });
    await server.close();
    assert.deepEqual(await Array.fromAsync(second.stream.chunks), []);
    await assert.rejects(network.upgrade(request, client.signal), { message: 'gone' });
  });

  test(`${name} upgrade server: notices the disconnect of a client that it does not read from`, async (t) => {
    const { network } = await makeWorld(t);
    const serving = Promise.withResolvers<WebSocketConnection>();
    const serve = (connection: WebSocketConnection): void => serving.resolve(connection);
    const { target } = await served(t, network, () => ({ kind: 'webSocket', protocol: 'v4', serve }));
    const client = new AbortController();
    const connection = await network.webSocket({ target, path: '/', protocols: ['v4'] }, client.signal);
    await connection.send(Uint8Array.of(1, 2));
    const serverSide = await serving.promise;
    client.abort(new Error('gone'));
    await Promise.all([serverSide.closed, connection.closed]);
    const left = await Array.fromAsync(serverSide.messages, (message) => [...message]);
    assert.deepEqual(left, [[1, 2]]);
  });

  test(`${name} upgrade server: closing ends connections and frees the port`, async (t) => {
    const { network } = await makeWorld(t);
    let serverSide: WebSocketConnection | undefined;
    const { server, target } = await served(t, network, () => ({
      kind: 'webSocket',
      protocol: 'v4',
      serve: (connection) => {
        serverSide = connection;
      },
    }));
    const connection = await network.webSocket({ target, path: '/', protocols: ['v4'] }, never);
    const ended = connection.messages[Symbol.asyncIterator]().next();
    await server.close();
    await ended.catch(() => {}); // a severed connection may show as an end or an error
    await assert.rejects(async () => serverSide?.send(Uint8Array.of(1)), { code: 'EPIPE' });
    await assert.rejects(network.dial(target, never), { code: 'ECONNREFUSED' });
  });
}

test('linux upgrade server: closes with the code of a normal closure, which Kubernetes clients expect', async (t) => {
  const { network } = await linuxNetworkWorld(t);
  const { target } = await served(t, network, () => ({
    kind: 'webSocket',
    protocol: 'v4',
    serve: (connection) => connection.close(),
  }));
  const client = new WebSocket(`ws://${target.host}:${target.port}/`, ['v4']);
  const [code] = await once(client, 'close');
  assert.equal(code, 1000);
});

test('linux upgrade server: passes on the bytes that came with the request, and keeps the spelling of the client', async (t) => {
  const { network } = await linuxNetworkWorld(t);
  const { target } = await served(t, network, () => ({
    kind: 'stream',
    serve: (stream) => void answerWhole(stream),
  }));
  const stream = await network.connectStream(target, never);
  await stream.write(
    Buffer.from('POST / HTTP/1.1\r\nHost: h\r\nConnection: Upgrade\r\nUpgrade: sPdY/3.1\r\n\r\nearly'),
  );
  stream.end();
  const text = Buffer.concat(await Array.fromAsync(stream.chunks)).toString();
  assert.equal(text, 'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: sPdY/3.1\r\n\r\nearly');
});

test('linux upgrade server: accepts Kubernetes protocol names that are not tokens', async (t) => {
  const { network } = await linuxNetworkWorld(t);
  const name = 'SPDY/3.1+portforward.k8s.io';
  const { target } = await served(t, network, ({ protocols: [protocol = ''] }) => ({
    kind: 'webSocket',
    protocol,
    serve: (connection) => connection.close(),
  }));
  const headers = [
    ['Connection', 'Upgrade'],
    ['Sec-WebSocket-Version', '13'],
    ['Sec-WebSocket-Key', 'dGhlIHNhbXBsZSBub25jZQ=='],
    ['Sec-WebSocket-Protocol', name],
  ] as const;
  const answer = await network.upgrade({ target, method: 'GET', path: '/', upgrade: 'websocket', headers }, never);
  assert.equal(answer.headers['sec-websocket-protocol'], name);
  answer.stream.close();
});

test('linux upgrade server: a string is sent as text, bytes as binary', async (t) => {
  const { network } = await linuxNetworkWorld(t);
  const serve = async (connection: WebSocketConnection): Promise<void> => {
    await connection.send('grüß');
    await connection.send(Uint8Array.of(1));
    connection.close();
  };
  const { target } = await served(t, network, () => ({
    kind: 'webSocket',
    protocol: 'v4',
    serve: (each) => void serve(each),
  }));
  const client = new WebSocket(`ws://${target.host}:${target.port}/`, ['v4']);
  const messages: unknown[] = [];
  client.on('message', (data: Buffer, isBinary) => messages.push([data.toString(), isBinary]));
  await once(client, 'close');
  assert.deepEqual(messages, [
    ['grüß', false],
    ['\x01', true],
  ]);
});

test('linux upgrade server: a client that does not read its pongs is disconnected', async (t) => {
  const { network } = await linuxNetworkWorld(t);
  const serve = (): void => {};
  const { target } = await served(t, network, () => ({ kind: 'webSocket', protocol: '', serve }));
  const stream = await network.connectStream(target, never);
  const head = 'Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==';
  await stream.write(Buffer.from(`GET / HTTP/1.1\r\nHost: h\r\nConnection: Upgrade\r\n${head}\r\n\r\n`));
  const ping = Buffer.from([0x89, 0x80 | 125, 0, 0, 0, 0, ...new Uint8Array(125)]);
  const pings = Buffer.concat(Array.from({ length: 1000 }, () => ping));
  const flood = async (): Promise<void> => {
    for (let count = 0; count < 500; count++) await stream.write(pings);
  };
  await assert.rejects(flood(), { code: 'EPIPE' });
});

test('linux upgrade server: a rejected client that does not close is disconnected', async (t) => {
  const { network } = await linuxNetworkWorld(t);
  const { target } = await served(t, network, () => ({ kind: 'refuse', status: 404, message: '' }));
  const client = createConnection({ ...target, allowHalfOpen: true });
  t.after(() => client.destroy());
  client.on('error', () => {}); // it is reset
  client.write('POST / HTTP/1.1\r\nHost: h\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\n\r\n');
  client.resume();
  await once(client, 'end');
  while (!client.destroyed) {
    client.write('more');
    await nextTurn();
  }
});

test('linux upgrades: the whole response of a server that rejects and keeps the connection is read', async (t) => {
  const { network, echo: target } = await linuxNetworkWorld(t);
  const refused = network.upgrade({ target, method: 'POST', path: '/exec', upgrade: 'SPDY/3.1' }, never);
  await assert.rejects(refused, { name: 'NetworkError', status: 202, bodyText: /"url":"\/exec"/ });
});

test('linux upgrade server: responds to pings, which Kubernetes clients use as keep-alive', async (t) => {
  const { network } = await linuxNetworkWorld(t);
  const { target } = await served(t, network, () => ({ kind: 'webSocket', protocol: '', serve: () => {} }));
  const client = new WebSocket(`ws://${target.host}:${target.port}/`);
  t.after(() => client.terminate());
  await once(client, 'open');
  client.ping('there?');
  assert.equal(String(await once(client, 'pong')), 'there?');
});
