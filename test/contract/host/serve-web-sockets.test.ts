/** What every network promises to who serves WebSockets. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type TestContext, test } from 'node:test';
import { WebSocket } from 'ws';
import type { Network, WebSocketConnection, WebSocketHandler, WebSocketOffer } from '../../../src/host/network.ts';
import { linuxNetworkWorld, memoryNetworkWorld, type NetworkWorld } from './network-worlds.ts';

const never = new AbortController().signal;

serveWebSocketsContract('linux', linuxNetworkWorld);
serveWebSocketsContract('memory', memoryNetworkWorld);

async function served(t: TestContext, network: Network, handler: WebSocketHandler) {
  const server = await network.serveWebSockets(handler);
  t.after(() => server.close());
  return { server, target: { host: '127.0.0.1', port: server.port } };
}

async function echo(connection: WebSocketConnection): Promise<void> {
  for await (const message of connection.messages) await connection.send(message);
}

function serveWebSocketsContract(name: string, makeWorld: (t: TestContext) => Promise<NetworkWorld>): void {
  test(`${name} web socket server: decides by what is offered, and speaks the protocol that it chose`, async (t) => {
    const { network } = await makeWorld(t);
    const offers: WebSocketOffer[] = [];
    const { target } = await served(t, network, (offer) => {
      offers.push(offer);
      return { kind: 'accept', protocol: 'v4', serve: (connection) => void echo(connection) };
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

  test(`${name} web socket server: a refusal is an HTTP answer`, async (t) => {
    const { network } = await makeWorld(t);
    const { target } = await served(t, network, ({ upgrade }) => ({
      kind: 'refuse',
      status: 404,
      message: `no ${upgrade}`,
    }));
    const refused = network.webSocket({ target, path: '/', protocols: ['v4'] }, never);
    await assert.rejects(refused, { name: 'NetworkError', code: 'EPROTO' });
    const headers = [
      ['Connection', 'Upgrade'],
      ['Upgrade', 'SPDY/3.1'],
    ] as const;
    const answer = await network.request({ target, method: 'POST', path: '/', headers }, never);
    let text = '';
    for await (const chunk of answer.body) text += new TextDecoder().decode(chunk);
    assert.deepEqual([answer.status, text], [404, 'no SPDY/3.1']);
  });

  test(`${name} web socket server: who accepts what is no WebSocket refuses it`, async (t) => {
    const { network } = await makeWorld(t);
    const { target } = await served(t, network, () => ({ kind: 'accept', protocol: '', serve: () => assert.fail() }));
    const answer = await network.request({ target, method: 'GET', path: '/' }, never);
    assert.equal(answer.status, 400);
  });

  test(`${name} web socket server: sees a client go of whom it reads nothing`, async (t) => {
    const { network } = await makeWorld(t);
    const serving = Promise.withResolvers<WebSocketConnection>();
    const serve = (connection: WebSocketConnection): void => serving.resolve(connection);
    const { target } = await served(t, network, () => ({ kind: 'accept', protocol: 'v4', serve }));
    const client = new AbortController();
    const connection = await network.webSocket({ target, path: '/', protocols: ['v4'] }, client.signal);
    await connection.send(Uint8Array.of(1, 2));
    const serverSide = await serving.promise;
    client.abort(new Error('gone'));
    await Promise.all([serverSide.closed, connection.closed]);
    const left = await Array.fromAsync(serverSide.messages, (message) => [...message]);
    assert.deepEqual(left, [[1, 2]]);
  });

  test(`${name} web socket server: closing ends connections and frees the port`, async (t) => {
    const { network } = await makeWorld(t);
    let serverSide: WebSocketConnection | undefined;
    const { server, target } = await served(t, network, () => ({
      kind: 'accept',
      protocol: 'v4',
      serve: (connection) => {
        serverSide = connection;
      },
    }));
    const connection = await network.webSocket({ target, path: '/', protocols: ['v4'] }, never);
    const ended = connection.messages[Symbol.asyncIterator]().next();
    await server.close();
    await ended.catch(() => {}); // a connection that is cut may be an end or a failure
    await assert.rejects(async () => serverSide?.send(Uint8Array.of(1)), { code: 'EPIPE' });
    await assert.rejects(network.dial(target, never), { code: 'ECONNREFUSED' });
  });
}

test('linux web socket server: says goodbye with the code of a normal end, which clients of Kubernetes wait for', async (t) => {
  const { network } = await linuxNetworkWorld(t);
  const { target } = await served(t, network, () => ({
    kind: 'accept',
    protocol: 'v4',
    serve: (connection) => connection.close(),
  }));
  const client = new WebSocket(`ws://${target.host}:${target.port}/`, ['v4']);
  const [code] = await once(client, 'close');
  assert.equal(code, 1000);
});
