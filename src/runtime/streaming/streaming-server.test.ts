import assert from 'node:assert/strict';
import { test } from 'node:test';
import { silentLog } from '../../base/log.ts';
import { byteStreamPair } from '../../host/fake/memory-byte-stream.ts';
import { createMemoryHost, type MemoryHost } from '../../host/fake/memory-host.ts';
import { webSocketPair } from '../../host/fake/memory-web-socket.ts';
import { type Network, NetworkError, type WebSocketConnection } from '../../host/network.ts';
import { type MemoryExec, memoryExecStreams } from '../oci/fake/memory-exec.ts';
import { EXEC_PROTOCOLS } from './exec-channels.ts';
import { type ExecSessionOptions, serveExec } from './exec-session.ts';
import { PORT_FORWARD_PROTOCOLS, servePortForward } from './port-forward-session.ts';
import { createStreamingServer, type StreamingSession } from './streaming-server.ts';

const never = new AbortController().signal;
const decoder = new TextDecoder();

function streamingWorld() {
  const host = createMemoryHost();
  const server = createStreamingServer({ ...host, log: silentLog });
  return { host, server };
}

function connect(host: MemoryHost, url: string, protocols: readonly string[], signal = never) {
  const { hostname, port, pathname } = new URL(url);
  return host.network.webSocket({ target: { host: hostname, port: Number(port) }, path: pathname, protocols }, signal);
}

/** All that came, by channel. */
async function received({ messages }: WebSocketConnection): Promise<Record<number, string>> {
  const channels: Record<number, string> = {};
  for await (const [channel = -1, ...data] of messages) {
    channels[channel] = (channels[channel] ?? '') + decoder.decode(Uint8Array.from(data));
  }
  return channels;
}

async function execConnection(
  script: MemoryExec,
  options: Partial<ExecSessionOptions> = {},
  protocol = 'v4.channel.k8s.io',
) {
  const world = streamingWorld();
  const streams = memoryExecStreams(script, world.host.clock);
  const all = { command: ['cmd'], stdin: false, stdout: true, stderr: true, ...options };
  const session: StreamingSession = {
    kind: 'exec',
    protocols: EXEC_PROTOCOLS,
    serve: (connection) => serveExec(connection, all, async () => streams, world.host.clock),
  };
  const url = await world.server.urlFor(session);
  const client = new AbortController();
  const connection = await connect(world.host, url, [protocol], client.signal);
  return { ...world, streams, connection, client, url };
}

const SUCCESS = '{"metadata":{},"status":"Success"}';

test('exec carries both outputs, then the end', async () => {
  const { host, connection } = await execConnection({ exitCode: 0, stdout: 'out', stderr: 'err' });
  const all = received(connection);
  await host.clock.runUntilIdle();
  assert.deepEqual(await all, { 1: 'out', 2: 'err', 3: SUCCESS });
});

test('exec tells the exit code', async () => {
  const { host, connection } = await execConnection({ exitCode: 7 });
  const all = received(connection);
  await host.clock.runUntilIdle();
  const status = JSON.parse((await all)[3] ?? '');
  assert.deepEqual(
    [status.status, status.reason, status.details],
    ['Failure', 'NonZeroExitCode', { causes: [{ reason: 'ExitCode', message: '7' }] }],
  );
});

test('exec with v5 ends the input of the process when the client does', async () => {
  const { connection } = await execConnection({ exitCode: 0, echoes: true }, { stdin: true }, 'v5.channel.k8s.io');
  assert.equal(connection.protocol, 'v5.channel.k8s.io');
  await connection.send(Buffer.from('\0typed'));
  await connection.send(Uint8Array.of(255, 0));
  assert.deepEqual(await received(connection), { 1: 'typed', 3: SUCCESS });
});

test('exec without standard input gives the process an end of it at once', async () => {
  const { connection } = await execConnection({ exitCode: 0, echoes: true });
  assert.deepEqual(await received(connection), { 1: '', 3: SUCCESS });
});

test('exec passes the size of the window on', async () => {
  const sizes: unknown[] = [];
  const script = {
    exitCode: 0,
    echoes: true,
    onResize: (size: { width: number; height: number }) => sizes.push([size.width, size.height]),
  };
  const { connection } = await execConnection(script, { stdin: true }, 'v5.channel.k8s.io');
  await connection.send(Buffer.from('\x04{"Width":80,"Height":24}'));
  await connection.send(Uint8Array.of(255, 0));
  await received(connection);
  assert.deepEqual(sizes, [[80, 24]]);
});

test('exec ends the process when its client goes', async () => {
  const { streams, client } = await execConnection({ exitCode: 0, echoes: true }, { stdin: true });
  client.abort(new Error('gone'));
  assert.equal(await streams.exited, 137);
});

test('exec ends a process that reads nothing when its client goes, after a while for the last words', async () => {
  const { host, streams, connection, client } = await execConnection({ exitCode: 0, echoes: true }, { stdin: true });
  streams.write = () => new Promise(() => {});
  await connection.send(Buffer.from('\0typed'));
  await host.clock.advance(0);
  client.abort(new Error('gone'));
  await host.clock.advance(9_999);
  assert.equal(await Promise.race([streams.exited, 'runs']), 'runs');
  await host.clock.advance(1);
  assert.equal(await streams.exited, 137);
});

test('exec says why a command does not start', async () => {
  const { host, server } = streamingWorld();
  const options = { command: ['none'], stdin: false, stdout: true, stderr: false };
  const serve = (connection: WebSocketConnection) =>
    serveExec(connection, options, () => Promise.reject(new Error('no such file')), host.clock);
  const url = await server.urlFor({ kind: 'exec', protocols: EXEC_PROTOCOLS, serve });
  const { 3: status = '' } = await received(await connect(host, url, EXEC_PROTOCOLS));
  assert.match(JSON.parse(status).message, /error executing command in container: no such file/);
});

test('a URL works once, for its own kind, and with a protocol that is spoken', async () => {
  const refused = { name: 'NetworkError', code: 'EPROTO' };
  const { host, server, connection, url } = await execConnection({ exitCode: 0, echoes: true });
  await received(connection);
  await assert.rejects(connect(host, url, EXEC_PROTOCOLS), refused);
  const session: StreamingSession = { kind: 'exec', protocols: EXEC_PROTOCOLS, serve: async () => assert.fail() };
  const wrongKind = (await server.urlFor(session)).replace('/exec/', '/portforward/');
  await assert.rejects(connect(host, wrongKind, EXEC_PROTOCOLS), refused);
  await assert.rejects(connect(host, await server.urlFor(session), ['v1.channel.k8s.io']), refused);
  const tooOld = await server.urlFor(session);
  await host.clock.advance(60_000);
  await assert.rejects(connect(host, tooOld, EXEC_PROTOCOLS), refused);
});

test('SPDY is refused with a reason, and the URL stays good', async () => {
  const { host, server } = streamingWorld();
  const serve = async (connection: WebSocketConnection) => connection.close();
  const url = await server.urlFor({ kind: 'exec', protocols: EXEC_PROTOCOLS, serve });
  const { hostname, port, pathname } = new URL(url);
  const headers = [['Upgrade', 'SPDY/3.1']] as const;
  const target = { host: hostname, port: Number(port) };
  const answer = await host.network.request({ target, method: 'POST', path: pathname, headers }, never);
  let text = '';
  for await (const chunk of answer.body) text += decoder.decode(chunk);
  assert.deepEqual([answer.status, text], [400, 'an upgrade to SPDY/3.1 is not supported here: use a WebSocket']);
  await received(await connect(host, url, EXEC_PROTOCOLS));
});

async function forwardConnection(ports: readonly number[]) {
  const world = streamingWorld();
  const { networkNamespaces } = world.host;
  networkNamespaces.set('/ns', []);
  networkNamespaces.listen('/ns', 80, (stream) => {
    void (async () => {
      for await (const chunk of stream.chunks) await stream.write(Buffer.from(`got ${decoder.decode(chunk)}`));
    })();
  });
  const url = await world.server.urlFor({
    kind: 'portforward',
    protocols: PORT_FORWARD_PROTOCOLS,
    serve: (connection) =>
      servePortForward(
        connection,
        { sandboxId: 's1', ports },
        (port, signal) => networkNamespaces.connectLoopback('/ns', port, signal),
        world.host.clock,
      ),
  });
  return { ...world, connection: await connect(world.host, url, PORT_FORWARD_PROTOCOLS) };
}

test('port-forward names each port on its two channels, then carries its data', async () => {
  const { connection } = await forwardConnection([80]);
  const messages = connection.messages[Symbol.asyncIterator]();
  const next = async () => [...(await messages.next()).value];
  assert.deepEqual(
    [await next(), await next()],
    [
      [0, 80, 0],
      [1, 80, 0],
    ],
  );
  await connection.send(Buffer.from('\0hi'));
  assert.deepEqual(Buffer.from(await next()).toString(), '\0got hi');
  connection.close();
});

test('port-forward tells on the channel for errors why a port does not answer', async () => {
  const { connection } = await forwardConnection([8080]);
  const { 1: error = '' } = await received(connection);
  assert.equal(error.slice(2), 'error forwarding port 8080 to pod s1, uid : connect ECONNREFUSED 127.0.0.1:8080');
});

test('port-forward lets go of the pod when its client is gone in the middle of a message', async () => {
  const [ours, theirs] = byteStreamPair();
  const connection: WebSocketConnection = {
    protocol: '',
    messages: { [Symbol.asyncIterator]: () => ({ next: () => new Promise(() => {}) }) },
    send: async (message) => {
      if (message.length > 3) throw new NetworkError('EPIPE', 'the connection is closed');
    },
    closed: new Promise(() => {}),
    close: () => {},
  };
  const { clock } = createMemoryHost();
  const serving = servePortForward(connection, { sandboxId: 's1', ports: [80] }, async () => ours, clock);
  await theirs.write(Buffer.from('answer'));
  await assert.rejects(serving, { code: 'EPIPE' });
  await assert.rejects(theirs.write(Buffer.from('more')), { code: 'EPIPE' });
});

test('port-forward lets go of a pod that reads nothing when its client goes, after a while for the last words', async () => {
  const [ours, theirs] = byteStreamPair();
  const { clock } = createMemoryHost();
  const { client, server } = webSocketPair('', never, never);
  const stuck = { ...ours, write: () => new Promise<never>(() => {}) };
  const serving = servePortForward(server, { sandboxId: 's1', ports: [80] }, async () => stuck, clock);
  await client.send(Buffer.from('\0hi'));
  await clock.advance(0);
  client.close();
  await clock.advance(9_999);
  assert.equal(await Promise.race([serving, 'serves']), 'serves');
  await clock.advance(1);
  await serving;
  await assert.rejects(theirs.write(Buffer.from('more')), { code: 'EPIPE' });
});

test('a server that could not listen tries again, and can be closed', async () => {
  const host = createMemoryHost();
  const failures = [new NetworkError('EMFILE', 'too many open files'), new NetworkError('EMFILE', 'still')];
  const serveWebSockets: Network['serveWebSockets'] = async (handler) => {
    const failure = failures.shift();
    if (failure) throw failure;
    return host.network.serveWebSockets(handler);
  };
  const server = createStreamingServer({ ...host, network: { serveWebSockets }, log: silentLog });
  const serve = async (connection: WebSocketConnection) => connection.close();
  const session: StreamingSession = { kind: 'exec', protocols: EXEC_PROTOCOLS, serve };
  await assert.rejects(server.urlFor(session), { message: 'too many open files' });
  await server.close();
  await assert.rejects(server.urlFor(session), { message: 'still' });
  await received(await connect(host, await server.urlFor(session), EXEC_PROTOCOLS));
});
