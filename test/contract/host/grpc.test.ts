/** The contract of gRPC connections. */
import assert from 'node:assert/strict';
import { getEventListeners, once } from 'node:events';
import { constants, createServer, type ServerHttp2Stream } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { type TestContext, test } from 'node:test';
import { linuxNetwork } from '../../../src/host/linux/linux-network.ts';
import type { GrpcConnection } from '../../../src/host/network.ts';
import { linuxNetworkWorld, memoryNetworkWorld, type NetworkWorld } from './network-worlds.ts';

const never = new AbortController().signal;

grpcContract('linux', linuxNetworkWorld);
grpcContract('memory', memoryNetworkWorld);

function request(path: string, message: Uint8Array = new Uint8Array()) {
  return { path, message, timeoutMs: 60_000 };
}

function grpcContract(name: string, makeWorld: (t: TestContext) => Promise<NetworkWorld>): void {
  async function connected(t: TestContext): Promise<GrpcConnection> {
    const { network, grpc } = await makeWorld(t);
    const connection = await network.grpc(grpc, 'me/1', never);
    t.after(() => connection.close());
    return connection;
  }

  test(`${name} grpc: carries messages both ways, in consecutive and concurrent calls`, async (t) => {
    const connection = await connected(t);
    const messages = [new Uint8Array(), Uint8Array.of(0, 255), new Uint8Array(300_000).fill(7)];
    const answers = await Promise.all(messages.map((message) => connection.call(request('/echo', message), never)));
    assert.deepEqual(
      answers,
      messages.map((message) => ({ code: 0, details: '', message })),
    );
  });

  test(`${name} grpc: sends the user agent`, async (t) => {
    const connection = await connected(t);
    const { message } = await connection.call(request('/agent'), never);
    assert.match(new TextDecoder().decode(message), /^me\/1/);
  });

  test(`${name} grpc: an error status is a response`, async (t) => {
    const connection = await connected(t);
    const response = await connection.call(request('/refused'), never);
    assert.deepEqual(response, { code: 7, details: 'grüß 100%', message: new Uint8Array() });
    const { code, details } = await connection.call(request('/nothing'), never);
    assert.deepEqual([code, details], [12, 'The server does not implement the method /nothing']);
  });

  test(`${name} grpc: rejects with the reason when it cannot connect`, async (t) => {
    const { network, closed, echo } = await makeWorld(t);
    await assert.rejects(network.grpc(closed, 'me', never), { name: 'NetworkError', code: 'ECONNREFUSED' });
    await assert.rejects(network.grpc({ host: 'localhost', port: 80 }, 'me', never), { code: 'ENOTFOUND' });
    await assert.rejects(network.grpc(echo, 'me', never), { name: 'NetworkError' });
  });

  test(`${name} grpc: a pending call rejects with the signal's reason`, async (t) => {
    const { network, silent } = await makeWorld(t);
    const aborted = AbortSignal.abort(new Error('enough'));
    await assert.rejects(network.grpc(silent, 'me', aborted), { message: 'enough' });
    const connection = await connected(t);
    await assert.rejects(connection.call(request('/echo'), aborted), { message: 'enough' });
    const controller = new AbortController();
    const answer = connection.call(request('/silent'), controller.signal);
    setImmediate(() => controller.abort(new Error('enough')));
    await assert.rejects(answer, { message: 'enough' });
    assert.equal(getEventListeners(controller.signal, 'abort').length, 0);
    assert.equal((await connection.call(request('/echo'), never)).code, 0);
  });

  test(`${name} grpc: a broken connection rejects its calls`, async (t) => {
    const connection = await connected(t);
    await assert.rejects(connection.call(request('/broken'), never), { name: 'NetworkError' });
  });

  test(`${name} grpc: a closed connection rejects calls`, async (t) => {
    const connection = await connected(t);
    const answer = connection.call(request('/silent'), never);
    setImmediate(() => connection.close());
    await assert.rejects(answer, { name: 'NetworkError' });
    connection.close();
    await assert.rejects(connection.call(request('/echo'), never), { name: 'NetworkError' });
  });
}

/** The result of a call to a server with this response. */
async function callTo(t: TestContext, answer: (stream: ServerHttp2Stream) => void) {
  const server = createServer();
  server.on('stream', (stream: ServerHttp2Stream) => {
    stream.on('error', () => {}); // the client may disconnect early
    answer(stream);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo; // it listens on TCP
  const connection = await linuxNetwork.grpc({ host: '127.0.0.1', port }, 'me', never);
  t.after(() => {
    connection.close();
    server.close();
  });
  const { code, details } = await connection.call(request('/any'), never);
  return { code, details };
}

const GRPC = { ':status': 200, 'content-type': 'application/grpc' };

const oddAnswers: Record<string, { answer: (stream: ServerHttp2Stream) => void; code: number; details: string }> = {
  'a missing web page': {
    answer: (stream) => {
      stream.respond({ ':status': 404, 'content-type': 'text/html' });
      stream.end('nothing here');
    },
    code: 12,
    details:
      'unexpected HTTP status code received from server: 404 (Not Found); transport: received unexpected content-type "text/html"',
  },
  'a web page': {
    answer: (stream) => {
      stream.respond({ ':status': 200 });
      stream.end('hello');
    },
    code: 2,
    details: 'malformed header: missing HTTP content-type',
  },
  'a gateway': {
    answer: (stream) => stream.respond({ ...GRPC, ':status': 503 }, { endStream: true }),
    code: 14,
    details: 'unexpected HTTP status code received from server: 503 (Service Unavailable)',
  },
  'an endless message': {
    answer: (stream) => {
      stream.respond(GRPC);
      const more = (left: number): void => {
        if (left > 0 && !stream.destroyed) stream.write(Buffer.alloc(65_536), () => more(left - 1));
      };
      more(1000);
    },
    code: 8,
    details: 'grpc: received message larger than max',
  },
  'a compressed message': {
    answer: (stream) => {
      stream.respond(GRPC, { waitForTrailers: true });
      stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' }));
      stream.end(Buffer.of(1, 0, 0, 0, 0));
    },
    code: 12,
    details: 'compressed message',
  },
  'half a message': {
    answer: (stream) => {
      stream.respond(GRPC, { waitForTrailers: true });
      stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' }));
      stream.end(Buffer.of(0, 0, 0, 0, 9, 1));
    },
    code: 13,
    details: 'malformed message',
  },
};

for (const [name, { answer, code, details }] of Object.entries(oddAnswers)) {
  test(`linux grpc: ${name} instead of a response`, async (t) => {
    const came = await callTo(t, answer);
    assert.deepEqual({ ...came, details: came.details.slice(0, details.length) }, { code, details });
  });
}

test('linux grpc: a call that the server resets', async (t) => {
  await assert.rejects(
    callTo(t, (stream) => stream.close(constants.NGHTTP2_INTERNAL_ERROR)),
    { name: 'NetworkError' },
  );
});

test('linux grpc: a server that accepts connections and does not respond', async (t) => {
  const { network, silent } = await linuxNetworkWorld(t);
  const controller = new AbortController();
  const connection = network.grpc(silent, 'me', controller.signal);
  setImmediate(() => controller.abort(new Error('enough')));
  await assert.rejects(connection, { message: 'enough' });
});
