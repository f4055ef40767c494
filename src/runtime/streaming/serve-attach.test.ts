import assert from 'node:assert/strict';
import { test } from 'node:test';
import { MemoryAttachments } from '../oci/fake/memory-attach.ts';
import type { CommandStreams } from './command-client.ts';
import { COMMAND_TRANSPORTS, type CommandTransport, connectCommandClient } from './fake/command-clients.ts';
import { streamingWorld } from './fake/streaming-world.ts';
import { serveAttach } from './serve-attach.ts';

const OUTPUT: CommandStreams = { stdin: false, stdout: true, stderr: true, tty: false };
const ALL: CommandStreams = { ...OUTPUT, stdin: true };
const TERMINAL: CommandStreams = { stdin: true, stdout: true, stderr: false, tty: true };
const SUCCESS = '{"metadata":{},"status":"Success"}';

interface Attaching {
  readonly streams?: CommandStreams;
  readonly stdinOnce?: boolean;
  readonly join?: () => Promise<never>;
}

async function attachedClient(
  transport: CommandTransport,
  { streams = OUTPUT, stdinOnce = false, join }: Attaching = {},
) {
  const world = streamingWorld();
  const container = new MemoryAttachments({ id: 'c', bundle: '/c', terminal: streams.tty, stdin: true, stdinOnce });
  const url = await world.server.urlFor('pod1', {
    kind: 'attach',
    streams,
    serve: (client) =>
      serveAttach(
        client,
        { streams, endsInput: stdinOnce && !streams.tty },
        join ?? (async () => container.attach()),
        world.host.clock,
      ),
  });
  const client = await connectCommandClient(world.host, url, transport, streams);
  await world.host.clock.advance(0);
  return { ...world, container, client };
}

for (const transport of COMMAND_TRANSPORTS) {
  const name = `attach by ${transport.carrier} ${transport.protocol || 'without a protocol'}`;
  const success = transport.outcome === 'status' ? SUCCESS : '';

  test(`${name}: both outputs, until the container exits`, async () => {
    const { container, client } = await attachedClient(transport);
    await container.write('stdout', 'out');
    await container.write('stderr', 'err');
    container.end();
    assert.deepEqual(await client.received(), { stdout: 'out', stderr: 'err', error: success });
  });

  test(`${name}: only the requested output`, async () => {
    const { container, client } = await attachedClient(transport, { streams: { ...OUTPUT, stdout: false } });
    await container.write('stdout', 'out');
    await container.write('stderr', 'err');
    container.end();
    assert.deepEqual(await client.received(), { stdout: '', stderr: 'err', error: success });
  });

  test(`${name}: input`, async () => {
    const { host, container, client } = await attachedClient(transport, { streams: ALL });
    await client.type('typed');
    await host.clock.advance(0);
    assert.equal(container.typed, 'typed');
  });

  test(`${name}: the container keeps running without its client`, async () => {
    const { host, container, client } = await attachedClient(transport, { streams: ALL });
    assert.equal(container.count, 1);
    client.leave();
    await host.clock.advance(0);
    assert.deepEqual([container.count, container.inputEnded], [0, false]);
    await container.write('stdout', 'to no client');
  });

  test(`${name}: a container with stdinOnce gets the end of its first client's input`, async () => {
    const { host, container, client } = await attachedClient(transport, { streams: ALL, stdinOnce: true });
    await client.type('typed');
    client.leave();
    await host.clock.advance(0);
    assert.deepEqual([container.typed, container.inputEnded], ['typed', true]);
  });

  test(`${name}: a client that reads nothing slows the container down`, async () => {
    const { host, container, client } = await attachedClient(transport);
    let written = 0;
    const writing = (async () => {
      for (; written < 256; written++) await container.write('stdout', 'x'.repeat(64 * 1024));
      container.end();
    })();
    await host.clock.advance(0);
    assert.ok(written > 0 && written < 160, `${written} chunks were accepted`);
    assert.equal((await client.received()).stdout.length, 256 * 64 * 1024);
    await writing;
  });

  test(`${name}: the error of a failed attach`, async () => {
    const join = () => Promise.reject(new Error('container is in CONTAINER_EXITED state'));
    const { client } = await attachedClient(transport, { join });
    const { error } = await client.received();
    assert.match(
      error,
      /Internal error occurred: error attaching to container: container is in CONTAINER_EXITED state/,
    );
  });
}

for (const transport of COMMAND_TRANSPORTS.filter(({ canEndInput }) => canEndInput)) {
  const name = `attach by ${transport.carrier} ${transport.protocol}`;
  const success = transport.outcome === 'status' ? SUCCESS : '';

  test(`${name}: ends with the client's input, and leaves the input of the container open`, async () => {
    const { container, client } = await attachedClient(transport, { streams: ALL });
    await client.type('typed');
    await client.endInput();
    assert.equal((await client.received()).error, success);
    assert.deepEqual([container.typed, container.inputEnded, container.count], ['typed', false, 0]);
  });

  test(`${name}: the output continues after the end of the container's input`, async () => {
    const { host, container, client } = await attachedClient(transport, { streams: ALL, stdinOnce: true });
    await client.type('typed');
    await client.endInput();
    await host.clock.advance(0);
    assert.equal(container.inputEnded, true);
    await container.write('stdout', 'answer');
    container.end();
    assert.equal((await client.received()).stdout, 'answer');
  });
}

for (const transport of COMMAND_TRANSPORTS.filter(({ canResize }) => canResize)) {
  test(`attach by ${transport.carrier} ${transport.protocol}: terminal sizes`, async () => {
    const { host, container, client } = await attachedClient(transport, { streams: TERMINAL });
    await client.resize('{"Width":80,"Height":24}');
    await host.clock.advance(0);
    assert.deepEqual(container.size, { width: 80, height: 24 });
    client.leave();
  });
}

test('attach: all clients receive the same output, and each may leave', async () => {
  const world = streamingWorld();
  const container = new MemoryAttachments({ id: 'c', bundle: '/c', terminal: false, stdin: true, stdinOnce: false });
  const serve = (client: Parameters<typeof serveAttach>[0]) =>
    serveAttach(client, { streams: OUTPUT, endsInput: false }, async () => container.attach(), world.host.clock);
  const clients = await Promise.all(
    COMMAND_TRANSPORTS.map(async (transport) => {
      const url = await world.server.urlFor('pod1', { kind: 'attach', streams: OUTPUT, serve });
      return connectCommandClient(world.host, url, transport, OUTPUT);
    }),
  );
  await world.host.clock.advance(0);
  const [first, ...others] = clients;
  const received = others.map((client) => client.received());
  first?.leave();
  await container.write('stdout', 'out');
  container.end();
  assert.deepEqual(
    (await Promise.all(received)).map(({ stdout }) => stdout),
    others.map(() => 'out'),
  );
});
