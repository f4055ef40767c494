/** The contract of HTTP servers on TCP. */
import assert from 'node:assert/strict';
import { networkInterfaces } from 'node:os';
import { type TestContext, test } from 'node:test';
import { linuxNetwork } from '../../../src/host/linux/linux-network.ts';
import type { HttpHandler, HttpResponse } from '../../../src/host/network.ts';
import { linuxNetworkWorld, memoryNetworkWorld, type NetworkWorld } from './network-worlds.ts';

const never = new AbortController().signal;
const HOST = '127.0.0.1';
const ok: HttpHandler = async () => ({ status: 200, body: 'ok' });

serveTcpContract('linux', linuxNetworkWorld);
serveTcpContract('memory', memoryNetworkWorld);

const hasIpv6 = Object.values(networkInterfaces()).some((all) => all?.some(({ address }) => address === '::1'));

test('linux TCP server: 0.0.0.0 is every address, IPv6 included', { skip: !hasIpv6 && 'needs IPv6' }, async (t) => {
  const server = await linuxNetwork.serveTcp({ host: '0.0.0.0', port: 0 }, ok);
  t.after(() => server.close());
  for (const host of [HOST, '::1']) (await linuxNetwork.dial({ host, port: server.port }, never)).close();
});

async function textOf({ body }: HttpResponse): Promise<string> {
  return Buffer.concat(await Array.fromAsync(body)).toString();
}

function serveTcpContract(name: string, makeWorld: (t: TestContext) => Promise<NetworkWorld>): void {
  async function served(t: TestContext, handler: HttpHandler) {
    const { network } = await makeWorld(t);
    const server = await network.serveTcp({ host: HOST, port: 0 }, handler);
    t.after(() => server.close());
    const target = { host: HOST, port: server.port };
    const get = (path: string) => network.request({ target, method: 'GET', path }, never);
    return { network, server, target, get };
  }

  test(`${name} TCP server: passes a request to the handler, and sends its response`, async (t) => {
    const { network, target } = await served(t, async ({ method, path, query, body }) => {
      const text = Buffer.concat(await Array.fromAsync(body)).toString();
      return { status: 201, headers: { 'X-Kind': 'test' }, body: `${method} ${path} ${query.get('q')} ${text}` };
    });
    const request = { target, method: 'PUT', path: '/a/b?q=x%20y', body: 'content' } as const;
    const response = await network.request(request, never);
    assert.deepEqual([response.status, response.headers['x-kind']], [201, 'test']);
    assert.equal(await textOf(response), 'PUT /a/b x y content');
  });

  test(`${name} TCP server: a rejection is a 500 with its text`, async (t) => {
    const { get } = await served(t, () => Promise.reject(new Error('no luck')));
    const response = await get('/');
    assert.deepEqual([response.status, await textOf(response)], [500, 'no luck']);
  });

  test(`${name} TCP server: rejects an address that is in use`, async (t) => {
    const { network, target, get } = await served(t, ok);
    await assert.rejects(network.serveTcp(target, ok), { name: 'NetworkError', code: 'EADDRINUSE' });
    assert.equal(await textOf(await get('/')), 'ok');
  });

  test(`${name} TCP server: closing ends pending responses`, async (t) => {
    const asked = Promise.withResolvers<void>();
    const { server, get } = await served(t, () => {
      asked.resolve();
      return new Promise(() => {});
    });
    const cut = assert.rejects(get('/'), { code: 'ECONNRESET' });
    await asked.promise;
    await server.close();
    await cut;
  });
}
