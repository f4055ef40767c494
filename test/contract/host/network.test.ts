/** The contract of network clients. */
import assert from 'node:assert/strict';
import { getEventListeners } from 'node:events';
import { type TestContext, test } from 'node:test';
import type { HttpResponse } from '../../../src/host/network.ts';
import { type Echo, linuxNetworkWorld, memoryNetworkWorld, type NetworkWorld } from './network-worlds.ts';

const never = new AbortController().signal;

networkContract('linux', linuxNetworkWorld);
networkContract('memory', memoryNetworkWorld);

async function textOf({ body }: HttpResponse): Promise<string> {
  let text = '';
  for await (const chunk of body) text += new TextDecoder().decode(chunk);
  return text;
}

function networkContract(name: string, makeWorld: (t: TestContext) => Promise<NetworkWorld>): void {
  test(`${name} network: dials a listener`, async (t) => {
    const { network, echo } = await makeWorld(t);
    const controller = new AbortController();
    const connection = await network.dial(echo, controller.signal);
    assert.equal(getEventListeners(controller.signal, 'abort').length, 0);
    connection.close();
    connection.close();
  });

  test(`${name} network: an address resolves to itself, and localhost to this machine`, async (t) => {
    const { network } = await makeWorld(t);
    assert.deepEqual(await network.lookup('192.0.2.7', never), ['192.0.2.7']);
    assert.ok((await network.lookup('localhost', never)).some((address) => ['127.0.0.1', '::1'].includes(address)));
    await assert.rejects(network.lookup('localhost', AbortSignal.abort(new Error('enough'))), /enough/);
  });

  test(`${name} network: rejects with the reason when it cannot connect`, async (t) => {
    const { network, closed, root } = await makeWorld(t);
    await assert.rejects(network.dial(closed, never), { name: 'NetworkError', code: 'ECONNREFUSED' });
    await assert.rejects(network.dial({ socketPath: `${root}/none` }, never), { code: 'ENOENT' });
    await assert.rejects(network.dial({ host: 'localhost', port: 80 }, never), { code: 'ENOTFOUND' });
    const request = { method: 'GET', path: '/' } as const;
    await assert.rejects(network.request({ ...request, target: closed }, never), { code: 'ECONNREFUSED' });
    const named = { ...request, target: { host: 'localhost', port: 80 } };
    await assert.rejects(network.request(named, never), { name: 'NetworkError', code: 'ENOTFOUND' });
    await assert.rejects(network.webSocket({ target: closed, path: '/', protocols: ['v1'] }, never), {
      name: 'NetworkError',
      code: 'ECONNREFUSED',
    });
  });

  test(`${name} network: an aborted signal prevents the connect`, async (t) => {
    const { network, echo } = await makeWorld(t);
    const aborted = AbortSignal.abort(new Error('enough'));
    await assert.rejects(network.dial(echo, aborted), { message: 'enough' });
    await assert.rejects(network.request({ target: echo, method: 'GET', path: '/' }, aborted), { message: 'enough' });
    const webSocket = network.webSocket({ target: echo, path: '/', protocols: ['v1'] }, aborted);
    await assert.rejects(webSocket, { message: 'enough' });
  });

  test(`${name} network: sends a request as it is given`, async (t) => {
    const { network, echo } = await makeWorld(t);
    const response = await network.request(
      {
        target: echo,
        method: 'POST',
        path: '/path?a=1&b=2',
        headers: [
          ['Host', 'example.test'],
          ['X-Twice', '1'],
          ['x-twice', '2'],
        ],
        body: 'grüß',
      },
      never,
    );
    assert.deepEqual([response.status, response.headers['x-answer']], [202, 'yes']);
    const seen: Echo = JSON.parse(await textOf(response));
    assert.deepEqual(
      {
        method: seen.method,
        url: seen.url,
        body: seen.body,
        host: seen.headers['host'],
        twice: seen.headers['x-twice'],
      },
      { method: 'POST', url: '/path?a=1&b=2', body: 'grüß', host: ['example.test'], twice: ['1', '2'] },
    );
  });

  test(`${name} network: a redirect is not followed`, async (t) => {
    const { network, echo } = await makeWorld(t);
    const response = await network.request({ target: echo, method: 'GET', path: '/moved' }, never);
    assert.deepEqual([response.status, response.headers['location'], await textOf(response)], [302, '/echo', '']);
  });

  test(`${name} network: a pending request rejects with the signal's reason`, async (t) => {
    const { network, silent } = await makeWorld(t);
    const controller = new AbortController();
    const response = network.request({ target: silent, method: 'GET', path: '/' }, controller.signal);
    setImmediate(() => controller.abort(new Error('enough')));
    await assert.rejects(response, { message: 'enough' });
  });

  test(`${name} web socket: uses the first common protocol, and carries messages`, async (t) => {
    const { network, webSocketEcho } = await makeWorld(t);
    const request = { target: webSocketEcho, path: '/', protocols: ['v9', 'v2', 'v1'] };
    const connection = await network.webSocket(request, never);
    assert.equal(connection.protocol, 'v2');
    const messages = connection.messages[Symbol.asyncIterator]();
    for (const message of [new Uint8Array(), Uint8Array.of(0, 255), new Uint8Array(300_000).fill(7)]) {
      await connection.send(message);
      const { value } = await messages.next();
      assert.deepEqual(new Uint8Array(value), message);
    }
    connection.close();
    assert.equal((await messages.next()).done, true);
    await assert.rejects(connection.send(Uint8Array.of(1)), { name: 'NetworkError', code: 'EPIPE' });
  });

  test(`${name} web socket: ends when the other side closes`, async (t) => {
    const { network, webSocketEcho } = await makeWorld(t);
    const connection = await network.webSocket({ target: webSocketEcho, path: '/', protocols: ['v1'] }, never);
    await connection.send(new TextEncoder().encode('bye'));
    for await (const _ of connection.messages) assert.fail('there is no message');
  });

  test(`${name} web socket: a server without a common protocol is rejected`, async (t) => {
    const { network, webSocketEcho, echo } = await makeWorld(t);
    const strange = network.webSocket({ target: webSocketEcho, path: '/', protocols: ['v9'] }, never);
    await assert.rejects(strange, { name: 'NetworkError', code: 'EPROTO' });
    const noWebSocket = network.webSocket({ target: echo, path: '/', protocols: ['v1'] }, never);
    await assert.rejects(noWebSocket, { name: 'NetworkError', code: 'EPROTO' });
  });

  test(`${name} web socket: the signal closes an established connection`, async (t) => {
    const { network, webSocketEcho } = await makeWorld(t);
    const controller = new AbortController();
    const request = { target: webSocketEcho, path: '/', protocols: ['v1'] };
    const connection = await network.webSocket(request, controller.signal);
    const next = connection.messages[Symbol.asyncIterator]().next();
    controller.abort(new Error('enough'));
    await assert.rejects(next, { message: 'enough' });
    await assert.rejects(connection.send(Uint8Array.of(1)), { code: 'EPIPE' });
  });

  test(`${name} web socket: a slow reader gets every message before the end`, async (t) => {
    const { network, webSocketFlood } = await makeWorld(t);
    const target = await webSocketFlood(200);
    const connection = await network.webSocket({ target, path: '/', protocols: ['v1'] }, never);
    let count = 0;
    for await (const message of connection.messages) {
      if (count < 5) await new Promise((resolve) => setTimeout(resolve, 5));
      count += message.byteLength / 65_536;
    }
    assert.equal(count, 200);
  });
}

test('memory network: an unknown name is not found', async () => {
  const { network } = await memoryNetworkWorld();
  await assert.rejects(network.lookup('name.invalid', never), { name: 'NetworkError', code: 'ENOTFOUND' });
});
