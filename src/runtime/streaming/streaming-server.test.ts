import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { silentLog } from '../../base/log.ts';
import { createMemoryHost, type MemoryHost } from '../../host/fake/memory-host.ts';
import { type ByteStream, type Network, NetworkError } from '../../host/network.ts';
import { openSpdySession } from '../../streams/spdy/open-spdy-session.ts';
import { memoryExecStreams } from '../oci/fake/memory-exec.ts';
import type { CommandStreams } from './command-client.ts';
import { COMMAND_TRANSPORTS, connectCommandClient, urlTarget } from './fake/command-clients.ts';
import { readText } from './fake/forward-clients.ts';
import { streamingWorld } from './fake/streaming-world.ts';
import { serveExec } from './serve-exec.ts';
import { servePortForward } from './serve-port-forward.ts';
import { createStreamingServer, type StreamingServer, type StreamingSession } from './streaming-server.ts';

const never = new AbortController().signal;
const ALL: CommandStreams = { stdin: true, stdout: true, stderr: true, tty: false };
const V4 = 'v4.channel.k8s.io';

/** A session that is never served. */
const unserved: StreamingSession = { kind: 'exec', streams: ALL, serve: async () => assert.fail('it was served') };

/** Echoes the input. */
function echoUrl({ host, server }: { host: MemoryHost; server: StreamingServer }, kind: 'exec' | 'attach' = 'exec') {
  const start = async () => memoryExecStreams({ exitCode: 0, echoes: true }, host.clock);
  return server.urlFor('pod1', {
    kind,
    streams: ALL,
    serve: (client) => serveExec(client, { command: ['cat'], streams: ALL }, start, host.clock),
  });
}

async function plainAnswer(
  { network }: MemoryHost,
  url: string,
  headers: ReadonlyArray<readonly [string, string]> = [],
) {
  const answer = await network.request({ ...urlTarget(url), method: 'GET', headers }, never);
  return [answer.status, await readText(answer.body)];
}

async function upgraded({ network }: MemoryHost, url: string, protocol: string, signal = never): Promise<ByteStream> {
  const headers = [['X-Stream-Protocol-Version', protocol]] as const;
  const request = { ...urlTarget(url), method: 'POST', upgrade: 'SPDY/3.1', headers } as const;
  return (await network.upgrade(request, signal)).stream;
}

const paths: Record<string, (url: string) => string> = {
  'an unknown token': (url) => `${url}x`,
  'another kind': (url) => url.replace('/exec/', '/attach/'),
  'no token': (url) => url.slice(0, url.lastIndexOf('/')),
  'no path': (url) => new URL('/', url).href,
};

for (const [name, change] of Object.entries(paths)) {
  test(`a client with ${name} gets 404`, async () => {
    const { host, server } = streamingWorld();
    const url = change(await server.urlFor('pod1', unserved));
    assert.deepEqual(await plainAnswer(host, url), [404, '404 page not found\n']);
    await assert.rejects(host.network.webSocket({ ...urlTarget(url), protocols: [V4] }, never), { code: 'EPROTO' });
    await assert.rejects(upgraded(host, url, V4), { code: 'EPROTO', message: /404/ });
  });
}

test('a URL works once, even after an error, and for a minute', async () => {
  const { host, server } = streamingWorld();
  const url = await server.urlFor('pod1', unserved);
  const [status] = await plainAnswer(host, url);
  assert.equal(status, 400);
  assert.deepEqual(await plainAnswer(host, url), [404, '404 page not found\n']);
  const tooOld = await server.urlFor('pod1', unserved);
  await host.clock.advance(60_000);
  assert.deepEqual(await plainAnswer(host, tooOld), [404, '404 page not found\n']);
});

test('a SPDY client gets the chosen protocol, or the supported ones', async () => {
  const { host, server } = streamingWorld();
  const request = { method: 'POST', upgrade: 'SPDY/3.1' } as const;
  const offering = (...protocols: string[]) => protocols.map((each) => ['X-Stream-Protocol-Version', each] as const);
  const url = await echoUrl({ host, server });
  const headers = offering('v9.channel.k8s.io', 'v3.channel.k8s.io', V4);
  const taken = await host.network.upgrade({ ...request, ...urlTarget(url), headers }, never);
  assert.equal(taken.headers['x-stream-protocol-version'], 'v3.channel.k8s.io');
  taken.stream.close();
  const refusing = { ...urlTarget(await server.urlFor('pod1', unserved)), headers: offering('v9.channel.k8s.io') };
  const answer = await host.network.request({ ...refusing, method: 'POST' }, never);
  assert.deepEqual(
    [answer.status, answer.headers['x-accepted-stream-protocol-versions']],
    [403, 'v4.channel.k8s.io, v3.channel.k8s.io, v2.channel.k8s.io, channel.k8s.io'],
  );
});

test('a SPDY client has half a minute to open its streams', async () => {
  const { host, server } = streamingWorld();
  const transport = await upgraded(host, await server.urlFor('pod1', unserved), V4);
  const session = openSpdySession(transport, 'client');
  await session.open({ streamtype: ['error'] }, never);
  await session.open({ streamtype: ['stdout'] }, never);
  await host.clock.advance(29_999);
  assert.equal(await Promise.race([session.closed, 'open']), 'open');
  await host.clock.advance(1);
  await session.closed;
});

test('additional streams of a SPDY client are reset', async () => {
  const world = streamingWorld();
  const session = openSpdySession(await upgraded(world.host, await echoUrl(world), V4), 'client');
  const open = (type: string) => session.open({ streamtype: [type] }, never);
  const [error, stdin] = [await open('error'), await open('stdin')];
  for (const type of ['error', 'stdin', 'resize', 'data', '']) await (await open(type)).closed;
  const stdout = await open('stdout');
  await open('stderr');
  await (await open('stdout')).closed;
  await stdin.write(Buffer.from('typed'));
  await stdin.end();
  assert.deepEqual(
    [await readText(stdout.chunks), JSON.parse(await readText(error.chunks)).status],
    ['typed', 'Success'],
  );
});

test('a client that does not disconnect after the end is disconnected by the timeout', async () => {
  const world = streamingWorld();
  const transport = await upgraded(world.host, await echoUrl(world), V4);
  const session = openSpdySession({ ...transport, end: () => {}, close: () => {} }, 'client');
  for (const type of ['error', 'stdout', 'stderr']) await session.open({ streamtype: [type] }, never);
  await (await session.open({ streamtype: ['stdin'] }, never)).end();
  await session.closed;
  await world.host.clock.advance(9_999);
  await transport.write(Uint8Array.of(0));
  await world.host.clock.advance(1);
  await assert.rejects(transport.write(Uint8Array.of(0)), { code: 'EPIPE' });
});

test('100 concurrent sessions, some of whose clients leave', async () => {
  const world = streamingWorld();
  const sessions = Array.from({ length: 100 }, async (_, index) => {
    const transport = COMMAND_TRANSPORTS[index % COMMAND_TRANSPORTS.length];
    assert.ok(transport);
    const client = await connectCommandClient(world.host, await echoUrl(world), transport, ALL);
    await client.type(`typed ${index}`);
    if (!transport.canEndInput) return client.leave();
    await client.endInput();
    assert.equal((await client.received()).stdout, `typed ${index}`);
  });
  await Promise.all(sessions);
});

test('close() closes all sessions', async () => {
  const world = streamingWorld();
  const clients = await Promise.all(
    COMMAND_TRANSPORTS.map(async (transport) => connectCommandClient(world.host, await echoUrl(world), transport, ALL)),
  );
  await world.server.close();
  await Promise.all(clients.map((client) => client.received()));
});

test('a server that could not listen retries, and can be closed', async () => {
  const host = createMemoryHost();
  const failures = [new NetworkError('EMFILE', 'too many open files'), new NetworkError('EMFILE', 'still')];
  const serveUpgrades: Network['serveUpgrades'] = async (handler) => {
    const failure = failures.shift();
    if (failure) throw failure;
    return host.network.serveUpgrades(handler);
  };
  const server = createStreamingServer({ ...host, network: { serveUpgrades }, log: silentLog });
  await assert.rejects(server.urlFor('pod1', unserved), { message: 'too many open files' });
  await server.close();
  await assert.rejects(server.urlFor('pod1', unserved), { message: 'still' });
  assert.deepEqual(await plainAnswer(host, `${await server.urlFor('pod1', unserved)}x`), [404, '404 page not found\n']);
});

const anything = fc.array(fc.uint8Array({ maxLength: 64 }), { maxLength: 8 });
const anyMessages = fc.array(
  fc.tuple(fc.constantFrom(0, 1, 2, 3, 4, 5, 48, 52, 255), fc.uint8Array({ maxLength: 32 })),
  { maxLength: 8 },
);

test('hostile messages end a session or are ignored, and the next client is served', async () => {
  const world = streamingWorld();
  const transports = COMMAND_TRANSPORTS.filter(({ carrier }) => carrier === 'webSocket');
  await fc.assert(
    fc.asyncProperty(fc.constantFrom(...transports), anyMessages, async ({ protocol }, messages) => {
      const client = new AbortController();
      const protocols = protocol === '' ? [] : [protocol];
      const place = urlTarget(await echoUrl(world));
      const connection = await world.host.network.webSocket({ ...place, protocols }, client.signal);
      for (const [channel, data] of messages) {
        await connection.send(Uint8Array.of(channel, ...data)).catch(() => {});
      }
      client.abort(new Error('gone'));
      await connection.closed;
    }),
  );
  await stillServes(world);
});

test('hostile bytes instead of SPDY end their session, and the next client is served', async () => {
  const world = streamingWorld();
  const { host, server } = world;
  const forward = (): Promise<string> =>
    server.urlFor('pod1', {
      kind: 'portforward',
      ports: [],
      serve: (client) =>
        servePortForward(client, { sandboxId: 's', ports: [] }, () => Promise.reject(new Error('no')), host.clock),
    });
  await fc.assert(
    fc.asyncProperty(fc.boolean(), anything, async (isExec, chunks) => {
      const [url, protocol] = isExec ? [await echoUrl(world), V4] : [await forward(), 'portforward.k8s.io'];
      const transport = await upgraded(host, url, protocol);
      for (const chunk of chunks) await transport.write(chunk).catch(() => {});
      transport.end();
      await Array.fromAsync(transport.chunks);
    }),
  );
  await stillServes(world);
});

async function stillServes(world: ReturnType<typeof streamingWorld>): Promise<void> {
  const [transport] = COMMAND_TRANSPORTS;
  assert.ok(transport);
  const client = await connectCommandClient(world.host, await echoUrl(world), transport, ALL);
  await client.type('typed');
  await client.endInput();
  assert.equal((await client.received()).stdout, 'typed');
}

test('a session without traffic is closed after the configured time', async () => {
  const { host, server } = streamingWorld({ maxIdleMs: 60_000 });
  const [transport] = COMMAND_TRANSPORTS;
  assert.ok(transport);
  const start = async () => memoryExecStreams({ exitCode: 0, echoes: true }, host.clock);
  const url = await server.urlFor('pod1', {
    kind: 'exec',
    streams: ALL,
    serve: (client, clock) => serveExec(client, { command: ['cat'], streams: ALL }, start, clock),
  });
  const client = await connectCommandClient(host, url, transport, ALL);
  const ended = client.received().then(() => 'closed');
  await host.clock.advance(59_999);
  assert.equal(await Promise.race([ended, 'open']), 'open');
  await host.clock.advance(1);
  assert.equal(await ended, 'closed');
});
