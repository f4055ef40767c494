/** The contract of HTTP pools. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, get, type RequestListener } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { type TestContext, test } from 'node:test';
import { createMemoryHost } from '../../../src/host/fake/memory-host.ts';
import { linuxNetwork } from '../../../src/host/linux/linux-network.ts';
import type { DialTarget, HttpRequest, HttpResponse, Network } from '../../../src/host/network.ts';
import { echo as echoByHttp2, startHttp2 } from './http2-server.ts';
import { type Echo, linuxNetworkWorld, memoryEcho, memoryNetworkWorld } from './network-worlds.ts';
import { certificateSkipReason } from './own-certificate.ts';

const never = new AbortController().signal;

/** The pool and the servers that the contract needs. */
interface PoolWorld {
  readonly network: Network;
  /** As in `NetworkWorld`. */
  readonly echo: Way;
  readonly silent: Way;
}

type Way = Pick<HttpRequest, 'target' | 'scheme' | 'mayMultiplex' | 'tls'>;

async function linuxWorld(t: TestContext): Promise<PoolWorld> {
  const { network, echo, silent } = await linuxNetworkWorld(t);
  return { network, echo: { target: echo }, silent: { target: silent } };
}

async function memoryWorld(): Promise<PoolWorld> {
  const { network, echo, silent } = await memoryNetworkWorld();
  return { network, echo: { target: echo }, silent: { target: silent } };
}

async function linuxHttp2World(t: TestContext): Promise<PoolWorld> {
  const silent = await startHttp2(t, (server) => server.on('stream', () => {}));
  return { network: linuxNetwork, echo: (await startHttp2(t, echoByHttp2)).way, silent: silent.way };
}

async function memoryHttp2World(): Promise<PoolWorld> {
  const { network } = createMemoryHost();
  const at = (port: number): Way => ({
    target: { host: '10.0.0.1', port },
    scheme: 'https',
    mayMultiplex: true,
    tls: { authorities: ['A'] },
  });
  const [echo, silent] = [at(443), at(444)];
  network.listen(echo.target, { http: memoryEcho, certificate: { authority: 'A' } });
  network.listen(silent.target, { http: () => new Promise(() => {}), certificate: { authority: 'A' } });
  return { network, echo, silent };
}

poolContract('linux', linuxWorld);
poolContract('memory', memoryWorld);
poolContract('linux HTTP/2', linuxHttp2World, certificateSkipReason);
poolContract('memory HTTP/2', memoryHttp2World);

async function textOf({ body }: HttpResponse): Promise<string> {
  let text = '';
  for await (const chunk of body) text += new TextDecoder().decode(chunk);
  return text;
}

function poolContract(
  name: string,
  makeWorld: (t: TestContext) => Promise<PoolWorld>,
  skip: string | false = false,
): void {
  test(`${name} pool: consecutive and concurrent exchanges`, { skip }, async (t) => {
    const { network, echo } = await makeWorld(t);
    using pool = network.pool();
    const ask = async (path: string): Promise<string> => {
      const echoed: Echo = JSON.parse(await textOf(await pool.request({ ...echo, method: 'GET', path }, never)));
      return echoed.url;
    };
    assert.equal(await ask('/1'), '/1');
    assert.deepEqual(await Promise.all([ask('/2'), ask('/3')]), ['/2', '/3']);
  });

  test(`${name} pool: a body of any method is separated from the next request`, { skip }, async (t) => {
    const { network, echo } = await makeWorld(t);
    using pool = network.pool();
    for (const method of ['DELETE', 'PATCH', 'GET', 'PUT', 'POST'] as const) {
      const request = { ...echo, method, path: '/', ...(method !== 'GET' && { body: `of ${method} ü` }) };
      const echoed: Echo = JSON.parse(await textOf(await pool.request(request, never)));
      assert.deepEqual([echoed.method, echoed.body], [method, request.body ?? '']);
    }
  });

  test(`${name} pool: an abort rejects with the signal's reason and does not affect others`, { skip }, async (t) => {
    const { network, silent, echo } = await makeWorld(t);
    using pool = network.pool();
    const enough = new AbortController();
    const response = pool.request({ ...silent, method: 'GET', path: '/' }, enough.signal);
    setImmediate(() => enough.abort(new Error('enough')));
    await assert.rejects(response, { message: 'enough' });
    assert.equal((await pool.request({ ...echo, method: 'GET', path: '/' }, never)).status, 202);
  });

  test(`${name} pool: a closed pool sends nothing, and rejects pending requests`, { skip }, async (t) => {
    const { network, silent, echo } = await makeWorld(t);
    const pool = network.pool();
    const response = pool.request({ ...silent, method: 'GET', path: '/' }, never);
    setImmediate(() => pool[Symbol.dispose]());
    await assert.rejects(response, { name: 'NetworkError' });
    pool[Symbol.dispose]();
    const late = pool.request({ ...echo, method: 'GET', path: '/' }, never);
    await assert.rejects(late, { name: 'NetworkError', code: 'EPIPE' });
  });

  test(`${name} pool: a connection that is not established in time is abandoned`, { skip }, async (t) => {
    const { network, echo } = await makeWorld(t);
    using pool = network.pool();
    const asked = { ...echo, method: 'GET', path: '/' } as const;
    // Without a pool HTTP/2 is not used: it has no benefit for one exchange.
    const ways = echo.mayMultiplex ? [pool.request] : [network.request.bind(network), pool.request];
    for (const request of ways) {
      const late = request({ ...asked, connectUntil: AbortSignal.abort() }, never);
      await assert.rejects(late, { name: 'NetworkError', code: 'ETIMEDOUT' });
      const limit = new AbortController();
      const response = await request({ ...asked, connectUntil: limit.signal }, never);
      limit.abort();
      assert.match(await textOf(response), /"method":"GET"/);
    }
  });

  test(`${name} pool: leaving a response ends only that exchange`, { skip }, async (t) => {
    const { network, echo } = await makeWorld(t);
    using pool = network.pool();
    const ask = (path: string): Promise<HttpResponse> => pool.request({ ...echo, method: 'GET', path }, never);
    const [left, read] = await Promise.all([ask('/left'), ask('/read')]);
    await left.body[Symbol.asyncIterator]().return?.();
    assert.match(await textOf(read), /"url":"\/read"/);
    assert.match(await textOf(await ask('/next')), /"url":"\/next"/);
  });
}

test('linux pool: repeatable requests are retried, others fail', async (t) => {
  const { target, sockets } = await linuxServer(t, (_, response) => response.end('x'));
  using pool = linuxNetwork.pool();
  const ask = async (change: object): Promise<string> => {
    await textOf(await pool.request({ target, method: 'GET', path: '/' }, never));
    sockets.at(-1)?.resetAndDestroy();
    return textOf(await pool.request({ target, method: 'PATCH', path: '/', body: '{}', ...change }, never));
  };
  assert.equal(await ask({ isRepeatable: true }), 'x');
  await assert.rejects(ask({}), { name: 'NetworkError' });
});

test('linux pool: uses a proxy, which resolves names', async (t) => {
  const { target } = await linuxServer(t, (_, response) => response.end('behind'));
  const asked: string[] = [];
  const proxy = await linuxServer(t, (request, response) => {
    asked.push(`${request.method} ${request.url}`);
    assert.ok('port' in target);
    get({ host: '127.0.0.1', port: target.port }, (found) => found.pipe(response));
  });
  assert.ok('port' in proxy.target);
  using pool = linuxNetwork.pool();
  const request = { target: { host: 'api.example', port: 80 }, method: 'GET', path: '/x' } as const;
  const response = await pool.request({ ...request, proxy: `http://127.0.0.1:${proxy.target.port}` }, never);
  assert.equal(await textOf(response), 'behind');
  assert.deepEqual(asked, ['GET http://api.example/x']);
});

interface Counted {
  readonly target: DialTarget;
  readonly sockets: readonly Socket[];
}

async function linuxServer(t: TestContext, listener: RequestListener): Promise<Counted> {
  const sockets: Socket[] = [];
  const server = createServer(listener);
  server.on('connection', (socket) => sockets.push(socket));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo; // it listens on TCP
  return { target: { host: '127.0.0.1', port }, sockets };
}

test('linux pool: consecutive exchanges share a connection', async (t) => {
  const { target, sockets } = await linuxServer(t, (_, response) => response.end('x'.repeat(100_000)));
  using pool = linuxNetwork.pool();
  for (let left = 5; left > 0; left--) await textOf(await pool.request({ target, method: 'GET', path: '/' }, never));
  assert.equal(sockets.length, 1);
});

test('linux pool: a connection that the server has closed is replaced', async (t) => {
  const { target, sockets } = await linuxServer(t, (_, response) => response.end('x'));
  using pool = linuxNetwork.pool();
  for (let left = 5; left > 0; left--) {
    assert.equal(await textOf(await pool.request({ target, method: 'GET', path: '/' }, never)), 'x');
    sockets.at(-1)?.destroy();
  }
});

test('linux network: leaving a response closes its connection, also before reading began', async (t) => {
  const { target, sockets } = await linuxServer(t, (_, response) => response.write('x'));
  using pool = linuxNetwork.pool();
  for (const { request } of [linuxNetwork, pool]) {
    const response = await request({ target, method: 'GET', path: '/' }, never);
    const socket = sockets.at(-1);
    assert.ok(socket);
    const closed = once(socket, 'close');
    await response.body[Symbol.asyncIterator]().return?.();
    await closed;
  }
});
