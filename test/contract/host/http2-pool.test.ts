/** A pool with HTTP/2 and misbehaving servers: the rules of `Http2Connections`, one by one. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer as createProxy } from 'node:http';
import type { ServerHttp2Stream } from 'node:http2';
import { createServer as createHttpsServer } from 'node:https';
import { connect, createServer as createTcpServer, type Socket } from 'node:net';
import { type TestContext, test } from 'node:test';
import { VirtualClock } from '../../../src/host/fake/virtual-clock.ts';
import { openPool } from '../../../src/host/linux/http/http-pool.ts';
import type { HttpPool, HttpRequest, HttpResponse } from '../../../src/host/network.ts';
import {
  answered,
  echo,
  ended,
  type Frame,
  type FrameConnection,
  frame,
  goAway,
  type Http2Place,
  listen,
  ownPair,
  reset,
  sent,
  startFrames,
  startHttp2,
} from './http2-server.ts';
import { certificateSkipReason as skip } from './own-certificate.ts';

const never = new AbortController().signal;
const CANCEL = 8;
const REFUSED_STREAM = 7;
const INTERNAL_ERROR = 2;
const ENHANCE_YOUR_CALM = 11;

async function textOf({ body }: HttpResponse): Promise<string> {
  let text = '';
  for await (const chunk of body) text += new TextDecoder().decode(chunk);
  return text;
}

function asker(pool: HttpPool, { way }: Http2Place) {
  return (change: Partial<HttpRequest> = {}, signal = never): Promise<HttpResponse> =>
    pool.request({ ...way, method: 'GET', path: '/', ...change }, signal);
}

/** Responses of a frame server, by the number of the connection and of the exchange on it. */
function script(t: TestContext, answers: (exchange: number, connection: FrameConnection, number: number) => void) {
  return startFrames(t, ({ type, stream }, connection, number) => {
    if (type === 'HEADERS') answers(stream, connection, number);
  });
}

/** The events in order; a test can wait for one. */
class Events<T> {
  readonly #seen: T[] = [];
  #wake = (): void => {};

  add(event: T): void {
    this.#seen.push(event);
    this.#wake();
  }

  /** The first matching event, or the one with that number. */
  async until(isMeant: (event: T) => boolean, number = 1): Promise<T> {
    for (;;) {
      const found = this.#seen.filter(isMeant)[number - 1];
      if (found !== undefined) return found;
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }
}

test('HTTP/2 pool: all exchanges share one connection', { skip }, async (t) => {
  const place = await startHttp2(t, echo);
  using pool = openPool();
  const ask = asker(pool, place);
  const open = await Promise.all(Array.from({ length: 150 }, () => ask({ path: '/endless' })));
  const headers = [
    ['Host', '127.0.0.1'],
    ['Connection', 'keep-alive'],
    ['X-Many', 'a'],
    ['X-Many', 'b'],
  ] as const;
  const answer = await ask({ method: 'PATCH', path: '/x?y=z', headers, body: 'ü' });
  assert.deepEqual([answer.status, answer.headers['x-answer']], [202, 'yes']);
  const echoed = JSON.parse(await textOf(answer));
  assert.deepEqual([echoed.method, echoed.url, echoed.body], ['PATCH', '/x?y=z', 'ü']);
  assert.deepEqual(
    [echoed.headers[':authority'], echoed.headers['content-length'], echoed.headers['x-many']],
    [['127.0.0.1'], ['2'], ['a, b']],
  );
  assert.deepEqual([open.length, place.sockets.length], [150, 1]);
});

test('HTTP/2 pool: a full connection gets a second one, and one idle connection is kept', {
  skip,
}, async (t) => {
  const place = await startHttp2(t, echo, { settings: { maxConcurrentStreams: 2 } });
  using pool = openPool();
  const ask = asker(pool, place);
  await textOf(await ask()); // the server's SETTINGS have arrived
  const over = new AbortController();
  const held = await Promise.all(Array.from({ length: 5 }, () => ask({ path: '/endless' }, over.signal)));
  assert.equal(held.length, 5);
  assert.equal(place.sockets.length, 3);
  const closed = place.sockets.map((socket) => once(socket, 'close'));
  over.abort();
  await Promise.any(closed);
  await textOf(await ask());
  assert.equal(place.sockets.length, 3);
});

test('HTTP/2 pool: a slow reader delays only its own response', { skip }, async (t) => {
  const taken = new Map<string | undefined, number>();
  const place = await startHttp2(t, (server) =>
    server.on('stream', (stream: ServerHttp2Stream, { ':path': path }) => {
      stream.on('error', () => {});
      stream.respond();
      const chunk = Buffer.alloc(65_536);
      const send = (error?: Error | null): void => {
        if (error) return;
        const before = taken.get(path) ?? 0;
        if (path === '/fast' && before === 8 * 2 ** 20) return void stream.end();
        taken.set(path, before + chunk.length);
        stream.write(chunk, send);
      };
      send();
    }),
  );
  using pool = openPool();
  const ask = asker(pool, place);
  const slow = await Promise.all(Array.from({ length: 8 }, () => ask({ path: '/slow' })));
  assert.equal((await textOf(await ask({ path: '/fast' }))).length, 8 * 2 ** 20);
  assert.equal(slow.length, 8);
  assert.ok((taken.get('/slow') ?? 0) <= 8 * (2 ** 20 + 2 * 65_536), `${taken.get('/slow')} bytes were sent ahead`);
  assert.equal(place.sockets.length, 1);
});

test('HTTP/2 pool: aborting or leaving an exchange resets its stream, and the connection stays', {
  skip,
}, async (t) => {
  const frames = new Events<Frame>();
  const place = await startFrames(t, (seen, connection) => {
    frames.add(seen);
    if (seen.type === 'HEADERS') connection.send(answered(seen.stream), sent(seen.stream, 'x'));
  });
  using pool = openPool();
  const ask = asker(pool, place);
  const cancelled = (stream: number) => (each: Frame) =>
    each.type === 'RST_STREAM' && each.stream === stream && each.body.readUInt32BE(0) === CANCEL;

  const enough = new AbortController();
  const aborted = await ask({}, enough.signal);
  enough.abort(new Error('enough'));
  await assert.rejects(textOf(aborted), { message: 'enough' });
  await frames.until(cancelled(1));
  for await (const _ of (await ask()).body) break;
  await frames.until(cancelled(3));
  await (await ask()).body[Symbol.asyncIterator]().return?.();
  await frames.until(cancelled(5));
  assert.equal(place.sockets.length, 1);
});

const BREAKS: Readonly<Record<string, (connection: FrameConnection) => void>> = {
  'the connection ends': ({ socket }) => socket.end(),
  'the connection is reset': ({ reset }) => reset(),
  'the server cancels it': ({ send }) => send(reset(1, CANCEL)),
  'the server fails': ({ send }) => send(reset(1, INTERNAL_ERROR)),
  'the server sends ENHANCE_YOUR_CALM': ({ send }) => send(goAway(1, ENHANCE_YOUR_CALM)),
  'the connection ends after a GOAWAY': ({ socket, send }) => {
    send(goAway(1));
    socket.end();
  },
};

for (const [what, breakOff] of Object.entries(BREAKS)) {
  test(`HTTP/2 pool: a response is not complete when ${what}`, { skip }, async (t) => {
    const connections: FrameConnection[] = [];
    const place = await script(t, (_, connection) => {
      connections.push(connection);
      connection.send(answered(1), sent(1, 'part'));
    });
    using pool = openPool();
    const { body } = await asker(pool, place)();
    const chunks = body[Symbol.asyncIterator]();
    assert.equal(new TextDecoder().decode((await chunks.next()).value), 'part');
    for (const connection of connections) breakOff(connection);
    await assert.rejects(chunks.next(), { name: 'NetworkError' });
  });
}

test('HTTP/2 pool: a complete response is not lost with its connection', { skip }, async (t) => {
  const place = await script(t, (exchange, { socket, send }) => {
    send(answered(exchange), ended(exchange, 'all'), goAway(exchange));
    socket.end();
  });
  using pool = openPool();
  const ask = asker(pool, place);
  const first = await ask({ method: 'POST' });
  const second = await ask({ method: 'POST' }); // on another connection: the first is closed
  assert.deepEqual([await textOf(first), await textOf(second)], ['all', 'all']);
  assert.equal(place.sockets.length, 2);
});

test('HTTP/2 pool: after a GOAWAY processed requests continue, and others are retried elsewhere', {
  skip,
}, async (t) => {
  const asked: string[] = [];
  let first: FrameConnection | undefined;
  const place = await script(t, (exchange, connection, number) => {
    asked.push(`${exchange} on ${number}`);
    first ??= connection;
    if (number === 2) connection.send(answered(exchange), ended(exchange, 'elsewhere'));
    else if (exchange === 1) connection.send(answered(1), sent(1, 'begun'));
    else connection.send(goAway(1));
  });
  using pool = openPool();
  const ask = asker(pool, place);
  const going = await ask();
  const unheard = await ask({ method: 'POST', body: '{}' });
  assert.equal(await textOf(unheard), 'elsewhere');
  assert.equal(await textOf(await ask()), 'elsewhere');
  first?.send(ended(1, ' and done'));
  assert.equal(await textOf(going), 'begun and done');
  assert.deepEqual(asked, ['1 on 1', '3 on 1', '1 on 2', '3 on 2']);
});

test('HTTP/2 pool: refused streams are retried, but not forever', { skip }, async (t) => {
  let resets = 2;
  let asked = 0;
  const place = await script(t, (exchange, { send }) => {
    asked++;
    if (resets-- > 0) send(reset(exchange, REFUSED_STREAM));
    else send(answered(exchange), ended(exchange, 'x'));
  });
  using pool = openPool();
  const ask = asker(pool, place);
  assert.equal(await textOf(await ask({ method: 'POST', body: '{}' })), 'x');
  assert.equal(asked, 3);
  resets = Number.POSITIVE_INFINITY;
  await assert.rejects(ask(), { name: 'NetworkError' });
  assert.equal(asked, 10);
  assert.equal(place.sockets.length, 1);
});

test('HTTP/2 pool: a server that refuses every connection is abandoned', { skip }, async (t) => {
  const place = await script(t, (_, { send }) => send(goAway(0)));
  using pool = openPool();
  await assert.rejects(asker(pool, place)({ method: 'POST' }), { name: 'NetworkError' });
  assert.equal(place.sockets.length, 7);
});

test('HTTP/2 pool: a repeatable request is retried when an idle connection breaks', { skip }, async (t) => {
  const asked: string[] = [];
  const place = await script(t, (exchange, { send, socket }, number) => {
    asked.push(`${exchange} on ${number}`);
    if (exchange === 1) send(answered(1), ended(1, 'x'));
    else socket.destroy();
  });
  using pool = openPool();
  const ask = asker(pool, place);
  for (let left = 2; left > 0; left--) assert.equal(await textOf(await ask()), 'x');
  assert.equal(await textOf(await ask({ method: 'PATCH', body: '{}', isRepeatable: true })), 'x');
  await assert.rejects(ask({ method: 'PATCH', body: '{}' }), { name: 'NetworkError', code: 'ECONNRESET' });
  assert.deepEqual(asked, ['1 on 1', '3 on 1', '1 on 2', '3 on 2', '1 on 3', '3 on 3']);
});

test('HTTP/2 pool: a request is rejected when a new connection breaks', { skip }, async (t) => {
  const place = await script(t, (_, { socket }) => socket.destroy());
  using pool = openPool();
  await assert.rejects(asker(pool, place)(), { name: 'NetworkError', code: 'ECONNRESET' });
  assert.equal(place.sockets.length, 1);
});

test('HTTP/2 pool: a silent server gets a PING, and is abandoned without a response', { skip }, async (t) => {
  const frames = new Events<Frame>();
  const clock = new VirtualClock();
  const place = await startFrames(t, (seen, { send }, number) => {
    if (seen.type === 'HEADERS' && (seen.stream === 1 || number === 2)) {
      send(answered(seen.stream), ended(seen.stream, `of ${number}`));
    }
    frames.add(seen);
  });
  using pool = openPool(clock);
  const ask = asker(pool, place);
  assert.equal(await textOf(await ask()), 'of 1');
  const repeated = ask();
  const silence = { name: 'NetworkError', code: 'ECONNRESET', message: 'the server does not respond' };
  const failed = assert.rejects(ask({ method: 'POST', body: '{}' }), silence);
  await frames.until(({ stream }) => stream === 5);
  await clock.advance(45_000);
  await frames.until(({ type }) => type === 'PING');
  await clock.advance(15_000);
  await failed;
  assert.equal(await textOf(await repeated), 'of 2');
});

test('HTTP/2 pool: a server that responds to PING is kept', { skip }, async (t) => {
  const frames = new Events<Frame>();
  const clock = new VirtualClock();
  let waiting: FrameConnection | undefined;
  const place = await startFrames(t, (seen, connection) => {
    const { type, isAck, stream, body } = seen;
    if (type === 'HEADERS' && stream === 1) connection.send(answered(1), ended(1, ''));
    if (type === 'HEADERS' && stream === 3) waiting = connection;
    // The server's own PING: the client acknowledges it after it has read our acknowledgement.
    if (type === 'PING' && !isAck) connection.send(frame('PING', { isAck: true, body }), frame('PING', { body }));
    frames.add(seen);
  });
  using pool = openPool(clock);
  const ask = asker(pool, place);
  await textOf(await ask());
  const answer = ask();
  await frames.until(({ stream }) => stream === 3);
  for (let round = 1; round <= 3; round++) {
    await clock.advance(45_000);
    await frames.until(({ type, isAck }) => type === 'PING' && isAck, round);
  }
  waiting?.send(answered(3), ended(3, 'at last'));
  assert.equal(await textOf(await answer), 'at last');
});

test('HTTP/2 pool: a silent server is abandoned after a GOAWAY too', { skip }, async (t) => {
  const frames = new Events<Frame & { readonly number: number }>();
  const clock = new VirtualClock();
  const place = await startFrames(t, (seen, { send }, number) => {
    if (seen.type === 'HEADERS' && number === 1) send(answered(1), sent(1, 'part'), goAway(1));
    if (seen.type === 'HEADERS' && number === 2) send(answered(1), ended(1, ''));
    frames.add({ ...seen, number });
  });
  using pool = openPool(clock);
  const ask = asker(pool, place);
  const chunks = (await ask()).body[Symbol.asyncIterator]();
  await chunks.next();
  await textOf(await ask()); // on another connection: the GOAWAY is read
  await clock.advance(45_000);
  await frames.until(({ number, type, isAck }) => number === 1 && type === 'SETTINGS' && !isAck);
  await clock.advance(15_000);
  await assert.rejects(chunks.next(), { name: 'NetworkError', message: 'the server does not respond' });
});

test('HTTP/2 pool: a connecting attempt is shared by all waiting requests, and ends with the last', {
  skip,
}, async (t) => {
  const inner = await startHttp2(t, echo);
  const door = new Events<Socket>();
  const held = createTcpServer((socket) => door.add(socket));
  const { way, sockets } = await listen(t, held, inner.way.tls?.authorities?.[0] ?? '');
  using pool = openPool();
  const ask = asker(pool, { way, sockets });
  const [first, second] = [new AbortController(), new AbortController()];
  const [impatient, patient] = [ask({}, first.signal), ask({}, second.signal)];
  const socket = await door.until(() => true);
  first.abort(new Error('enough'));
  await assert.rejects(impatient, { message: 'enough' });
  const { target } = inner.way;
  assert.ok('port' in target);
  socket.pipe(connect(target.port, '127.0.0.1')).pipe(socket);
  assert.equal((await patient).status, 202);
  assert.equal(sockets.length, 1);

  using other = openPool();
  const alone = new AbortController();
  const given = asker(other, { way, sockets })({}, alone.signal);
  const late = await door.until((each) => each !== socket);
  late.resume();
  alone.abort(new Error('enough'));
  await assert.rejects(given, { message: 'enough' });
  await once(late, 'close');
});

test('HTTP/2 pool: a server without HTTP/2 is used with HTTP/1.1', { skip }, async (t) => {
  const { certificate, key } = await ownPair(t);
  const server = createHttpsServer({ cert: certificate, key }, (request, response) => {
    response.end(`${request.httpVersion} ${request.url}`);
  });
  const place = await listen(t, server, certificate);
  using pool = openPool();
  const ask = asker(pool, place);
  for (const path of ['/1', '/2', '/3']) assert.equal(await textOf(await ask({ path })), `1.1 ${path}`);
  assert.equal(place.sockets.length, 2);
});

test('HTTP/2 pool: endless headers are rejected, and the connection stays', { skip }, async (t) => {
  const place = await startHttp2(t, (server) =>
    server.on('request', ({ url }, response) => {
      response.writeHead(200, { 'X-Long': 'x'.repeat(url === '/long' ? 20_000 : 10_000) }).end();
    }),
  );
  using pool = openPool();
  const ask = asker(pool, place);
  await textOf(await ask()); // the server has our SETTINGS
  await assert.rejects(ask({ path: '/long' }), { name: 'NetworkError' });
  assert.equal((await ask()).headers['x-long']?.length, 10_000);
  assert.equal(place.sockets.length, 1);
});

test('HTTP/2 pool: goes through a proxy, which looks names up', { skip }, async (t) => {
  const place = await startHttp2(t, echo);
  const asked: unknown[] = [];
  const proxy = createProxy().on('connect', ({ url, headers }, client: Socket) => {
    asked.push([url, headers['proxy-authorization']]);
    if (url !== 'server.example:443') return client.end('HTTP/1.1 403 Forbidden\r\n\r\n');
    const { target } = place.way;
    assert.ok('port' in target);
    client.write('HTTP/1.1 200 OK\r\n\r\n');
    client.on('error', () => {});
    return client.pipe(connect(target.port, '127.0.0.1')).pipe(client);
  });
  const { way } = await listen(t, proxy, '');
  assert.ok('port' in way.target);
  using pool = openPool();
  const ask = asker(pool, place);
  const through = { proxy: `http://me:p%40ss@127.0.0.1:${way.target.port}` };
  const target = { host: 'server.example', port: 443 };
  for (let left = 3; left > 0; left--) assert.equal((await ask({ ...through, target })).status, 202);
  const other = ask({ ...through, target: { host: 'other.example', port: 443 } });
  await assert.rejects(other, { name: 'NetworkError', code: 'ERR_PROXY_TUNNEL' });
  const secret = `Basic ${Buffer.from('me:p@ss').toString('base64')}`;
  assert.deepEqual(asked, [
    ['server.example:443', secret],
    ['other.example:443', secret],
  ]);
});

test('HTTP/2 pool: other TLS settings use another connection, and exchanges with the old ones continue', {
  skip,
}, async (t) => {
  const place = await startHttp2(t, echo);
  using pool = openPool();
  const ask = asker(pool, place);
  const old = (await ask({ path: '/endless' })).body[Symbol.asyncIterator]();
  await textOf(await ask({ tls: { ...place.way.tls, serverName: 'server.example' } }));
  assert.equal((await old.next()).done, false);
  assert.equal(place.sockets.length, 2);
  await old.return?.();
});

test('HTTP/2 pool: closing ends responses that are being read', { skip }, async (t) => {
  const place = await startHttp2(t, echo);
  const pool = openPool();
  const { body } = await asker(pool, place)({ path: '/endless' });
  pool[Symbol.dispose]();
  await assert.rejects(textOf({ status: 200, headers: {}, body }), { name: 'NetworkError' });
  await assert.rejects(asker(pool, place)(), { name: 'NetworkError', code: 'EPIPE' });
});
