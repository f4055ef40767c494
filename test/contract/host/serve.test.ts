/** The contract of HTTP servers on socket files. */
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import type { HttpHandler, HttpResponse, HttpServer } from '../../../src/host/network.ts';
import { linuxNetworkWorld, memoryNetworkWorld, type NetworkWorld } from './network-worlds.ts';

const never = new AbortController().signal;
const ok: HttpHandler = async () => ({ status: 200, body: 'ok' });

serveContract('linux', linuxNetworkWorld);
serveContract('memory', memoryNetworkWorld);

async function textOf({ body }: HttpResponse): Promise<string> {
  let text = '';
  for await (const chunk of body) text += new TextDecoder().decode(chunk);
  return text;
}

function serveContract(name: string, makeNetwork: (t: TestContext) => Promise<NetworkWorld>): void {
  async function makeWorld(t: TestContext) {
    const world = await makeNetwork(t);
    const socketPath = `${world.root}/socket`;
    const servers: HttpServer[] = [];
    t.after(() => Promise.all(servers.map((server) => server.close())));
    return {
      ...world,
      socketPath,
      serve: async (handler: HttpHandler) => {
        const server = await world.network.serve({ socketPath, mode: 0o600 }, handler);
        servers.push(server);
        return server;
      },
      get: (path: string, signal = never) =>
        world.network.request({ target: { socketPath }, method: 'GET', path }, signal),
    };
  }

  test(`${name} server: passes a request to the handler, and sends its response`, async (t) => {
    const { network, serve, socketPath } = await makeWorld(t);
    await serve(async ({ method, path, query, body }) => {
      let text = '';
      for await (const chunk of body) text += new TextDecoder().decode(chunk);
      return { status: 201, headers: { 'X-Kind': 'test' }, body: `${method} ${path} ${query.get('q')} ${text}` };
    });
    const request = { target: { socketPath }, method: 'PUT', path: '/a/b?q=x%20y', body: 'content' } as const;
    const response = await network.request(request, never);
    assert.deepEqual([response.status, response.headers['x-kind']], [201, 'test']);
    assert.equal(await textOf(response), 'PUT /a/b x y content');
  });

  test(`${name} server: the file has its mode and is removed with the server`, async (t) => {
    const { fs, root, serve, socketPath, get } = await makeWorld(t);
    const server = await serve(ok);
    const stat = await fs.lstat(socketPath);
    assert.deepEqual([stat?.kind, stat?.mode], ['socket', 0o600]);
    assert.deepEqual(await fs.readDirectory(root), [{ name: 'socket', kind: 'socket' }]);
    await server.close();
    assert.deepEqual(await fs.readDirectory(root), []);
    await assert.rejects(get('/'), { code: 'ENOENT' });
  });

  test(`${name} server: replaces neither a socket with a listener nor a file`, async (t) => {
    const { network, fs, root, serve, socketPath, get } = await makeWorld(t);
    await serve(ok);
    await assert.rejects(serve(ok), { name: 'NetworkError', code: 'EADDRINUSE' });
    assert.equal(await textOf(await get('/')), 'ok');
    await fs.writeFile(`${root}/file`, 'kept');
    await assert.rejects(network.serve({ socketPath: `${root}/file`, mode: 0o600 }, ok), { code: 'EADDRINUSE' });
    assert.equal(await fs.readText(`${root}/file`), 'kept');
    assert.equal((await fs.readDirectory(root)).length, 2, socketPath);
  });

  test(`${name} server: replaces a stale socket`, async (t) => {
    const { network, serve, socketPath, leaveStaleSocket, get } = await makeWorld(t);
    await leaveStaleSocket(socketPath);
    await assert.rejects(network.dial({ socketPath }, never), { code: 'ECONNREFUSED' });
    await serve(ok);
    assert.equal(await textOf(await get('/')), 'ok');
  });

  test(`${name} server: exactly one of many concurrent servers replaces a stale socket`, async (t) => {
    const { serve, socketPath, leaveStaleSocket, get } = await makeWorld(t);
    await leaveStaleSocket(socketPath);
    const claims = Array.from({ length: 20 }, (_, index) => serve(async () => ({ status: 200, body: `${index}` })));
    const results = await Promise.allSettled(claims);
    const won = results.flatMap(({ status }, index) => (status === 'fulfilled' ? [index] : []));
    const lost = results.flatMap((result) => (result.status === 'rejected' ? [result.reason.code] : []));
    assert.deepEqual([won.length, new Set(lost)], [1, new Set(['EADDRINUSE'])]);
    assert.equal(await textOf(await get('/')), String(won[0]));
  });

  test(`${name} server: does not remove a file that was replaced`, async (t) => {
    const { fs, serve, socketPath, get } = await makeWorld(t);
    const first = await serve(ok);
    await fs.remove(socketPath);
    await assert.rejects(get('/'), { code: 'ENOENT' });
    await serve(async () => ({ status: 200, body: 'second' }));
    await first.close();
    assert.equal(await textOf(await get('/')), 'second');
  });

  test(`${name} server: fails without the folder`, async (t) => {
    const { network, root } = await makeWorld(t);
    const listening = network.serve({ socketPath: `${root}/none/socket`, mode: 0o600 }, ok);
    await assert.rejects(listening, { name: 'NetworkError', code: 'ENOENT' });
  });

  test(`${name} server: a handler's error is a 500 with its text`, async (t) => {
    const { serve, get } = await makeWorld(t);
    await serve(async () => {
      throw new Error('no luck');
    });
    const response = await get('/');
    assert.deepEqual([response.status, await textOf(response)], [500, 'no luck']);
  });

  test(`${name} server: a stream arrives chunk by chunk, and ends with its last chunk`, async (t) => {
    const { serve, get } = await makeWorld(t);
    const seen: string[] = [];
    let go = Promise.withResolvers<void>();
    async function* pieces() {
      for (const piece of ['one', 'two']) {
        yield piece;
        await go.promise;
        go = Promise.withResolvers();
      }
    }
    await serve(async () => ({ status: 200, body: pieces() }));
    for await (const chunk of (await get('/')).body) {
      seen.push(new TextDecoder().decode(chunk));
      go.resolve(); // the next chunk is created only now
    }
    assert.deepEqual(seen, ['one', 'two']);
  });

  test(`${name} server: notices a disconnect of the client, which gets its own reason`, async (t) => {
    const { serve, get } = await makeWorld(t);
    const gone = Promise.withResolvers<void>();
    await serve(async ({ signal }) => {
      signal.addEventListener('abort', () => gone.resolve());
      async function* endless() {
        yield 'first';
        await gone.promise;
      }
      return { status: 200, body: endless() };
    });
    const controller = new AbortController();
    const response = await get('/', controller.signal);
    const body = response.body[Symbol.asyncIterator]();
    await body.next();
    const next = body.next();
    controller.abort(new Error('enough'));
    await assert.rejects(next, { message: 'enough' });
    await gone.promise;
  });

  test(`${name} server: closing ends pending responses`, async (t) => {
    const { serve, get } = await makeWorld(t);
    const gone = Promise.withResolvers<void>();
    const server = await serve(async ({ signal }) => {
      signal.addEventListener('abort', () => gone.resolve());
      async function* endless() {
        yield 'first';
        await gone.promise;
      }
      return { status: 200, body: endless() };
    });
    const body = (await get('/')).body[Symbol.asyncIterator]();
    await body.next();
    const next = body.next();
    await Promise.all([assert.rejects(next, { name: 'NetworkError', code: 'ECONNRESET' }), server.close()]);
    await gone.promise;
  });

  test(`${name} server: a streamed body is received as fast as it is read`, async (t) => {
    const { network, serve, socketPath } = await makeWorld(t);
    await serve(async ({ body }) => {
      let bytes = 0;
      for await (const chunk of body) bytes += chunk.byteLength;
      return { status: 200, body: `${bytes}` };
    });
    async function* bodyStream() {
      for (let left = 100; left > 0; left--) yield new Uint8Array(65_536);
    }
    const request = { target: { socketPath }, method: 'POST', path: '/', bodyStream: bodyStream() } as const;
    assert.equal(await textOf(await network.request(request, never)), `${100 * 65_536}`);
  });

  test(`${name} server: may respond before it has read a streamed body, which is then abandoned`, async (t) => {
    const { network, serve, socketPath } = await makeWorld(t);
    const left = Promise.withResolvers<void>();
    await serve(async ({ body }) => {
      for await (const _ of body) break;
      return { status: 507, body: 'full' };
    });
    async function* bodyStream() {
      try {
        for (;;) yield new Uint8Array(65_536);
      } finally {
        left.resolve();
      }
    }
    const request = { target: { socketPath }, method: 'POST', path: '/', bodyStream: bodyStream() } as const;
    const response = await network.request(request, never);
    assert.deepEqual([response.status, await textOf(response)], [507, 'full']);
    await left.promise;
  });

  test(`${name} server: notices an interrupted streamed body, and the client gets its own reason`, async (t) => {
    const { network, serve, socketPath } = await makeWorld(t);
    const [begun, seen] = [Promise.withResolvers<void>(), Promise.withResolvers<string>()];
    await serve(async ({ body }) => {
      try {
        for await (const _ of body) begun.resolve();
        seen.resolve('whole');
      } catch {
        seen.resolve('broken off');
      }
      return { status: 200, body: '' };
    });
    async function* bodyStream() {
      yield new Uint8Array(10);
      await begun.promise;
      throw new Error('cannot read it');
    }
    const request = { target: { socketPath }, method: 'POST', path: '/', bodyStream: bodyStream() } as const;
    await assert.rejects(network.request(request, never), { message: 'cannot read it' });
    assert.equal(await seen.promise, 'broken off');
  });

  test(`${name} server: a response that fails midway is not complete`, async (t) => {
    const { serve, get } = await makeWorld(t);
    async function* broken() {
      yield 'half';
      throw new Error('no luck');
    }
    await serve(async () => ({ status: 200, body: broken() }));
    await assert.rejects(textOf(await get('/')));
  });

  test(`${name} server: is idle when the last response has been sent`, async (t) => {
    const { serve, get } = await makeWorld(t);
    const go = Promise.withResolvers<void>();
    const order: string[] = [];
    async function* pieces() {
      yield 'one';
      await go.promise;
      order.push('sent');
      yield 'two';
    }
    const server = await serve(async () => ({ status: 200, body: pieces() }));
    await server.idle();
    const chunks = (await get('/')).body[Symbol.asyncIterator]();
    await chunks.next();
    const idle = server.idle().then(() => order.push('idle'));
    go.resolve();
    while (!(await chunks.next()).done);
    await idle;
    assert.deepEqual(order, ['sent', 'idle']);
  });
}
