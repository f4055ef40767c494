/** The number of sessions of a pod, and every way in which a session ends. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { MemoryHost } from '../../host/fake/memory-host.ts';
import { eventLoopTurn } from '../../host/linux/process/event-loop-turn.ts';
import { memoryExecStreams } from '../oci/fake/memory-exec.ts';
import type { CommandStreams } from './command-client.ts';
import { COMMAND_TRANSPORTS, connectCommandClient, urlTarget } from './fake/command-clients.ts';
import { streamingWorld } from './fake/streaming-world.ts';
import { serveExec } from './serve-exec.ts';
import type { StreamingServer } from './streaming-server.ts';

const never = new AbortController().signal;
const ALL: CommandStreams = { stdin: true, stdout: true, stderr: true, tty: false };
const V4 = 'v4.channel.k8s.io';

interface World {
  readonly host: MemoryHost;
  readonly server: StreamingServer;
}

/** A command that echoes its input, or fails to start. */
function urlOf({ host, server }: World, pod = 'pod1', error?: Error) {
  const start = async () => {
    if (error) throw error;
    return memoryExecStreams({ exitCode: 0, echoes: true }, host.clock);
  };
  const serve = (client: Parameters<typeof serveExec>[0]) =>
    serveExec(client, { command: ['cat'], streams: ALL }, start, host.clock);
  return server.urlFor(pod, { kind: 'exec', streams: ALL, serve });
}

async function settled(): Promise<void> {
  for (let turn = 0; turn < 20; turn++) await eventLoopTurn();
}

const EXCEEDED = {
  name: 'CriError',
  code: 'ResourceExhausted',
  message: 'maximum number of streaming sessions of pod sandbox pod1 exceeded: 1',
};

test('a pod with too many sessions gets no URL; other pods do', async () => {
  const world = streamingWorld({ sessionsPerPod: 1 });
  await urlOf(world);
  await assert.rejects(urlOf(world), EXCEEDED);
  await urlOf(world, 'pod2');
});

test('by default a pod may have 128 sessions', async () => {
  const world = streamingWorld();
  for (let count = 0; count < 128; count++) await urlOf(world);
  await assert.rejects(urlOf(world), { code: 'ResourceExhausted', message: /pod sandbox pod1 exceeded: 128$/ });
});

/** Each takes the URL of the only session to an end. */
const ENDS: Record<string, (world: World, url: string) => Promise<unknown>> = {
  'the client never connects': ({ host }) => host.clock.advance(60_000),
  'the client uses another path': ({ host }, url) =>
    host.network.request({ ...urlTarget(url.replace('/exec/', '/attach/')), method: 'GET' }, never),
  'the client requests no upgrade': ({ host }, url) =>
    host.network.request({ ...urlTarget(url), method: 'GET' }, never),
  'the client offers no supported protocol': ({ host }, url) =>
    host.network.webSocket({ ...urlTarget(url), protocols: ['v9.channel.k8s.io'] }, never).catch(() => {}),
  'a WebSocket client leaves': async ({ host }, url) => {
    const connection = await host.network.webSocket({ ...urlTarget(url), protocols: [V4] }, never);
    connection.close();
  },
  'a SPDY client leaves': async ({ host }, url) => {
    const headers = [['X-Stream-Protocol-Version', V4]] as const;
    const request = { ...urlTarget(url), method: 'POST', upgrade: 'SPDY/3.1', headers } as const;
    const { stream } = await host.network.upgrade(request, never);
    stream.close();
  },
};

for (const [what, end] of Object.entries(ENDS)) {
  test(`a session is released when ${what}`, async () => {
    const world = streamingWorld({ sessionsPerPod: 1 });
    await end(world, await urlOf(world));
    await settled();
    await world.host.clock.advance(60_000);
    await urlOf(world);
  });
}

for (const transport of COMMAND_TRANSPORTS.filter(({ canEndInput }) => canEndInput)) {
  const { carrier, protocol } = transport;
  test(`${carrier} ${protocol}: a session counts while it is served, until its command ends or fails`, async () => {
    const world = streamingWorld({ sessionsPerPod: 1 });
    for (const error of [undefined, new Error('no such file')]) {
      const client = await connectCommandClient(world.host, await urlOf(world, 'pod1', error), transport, ALL);
      const received = client.received();
      if (error === undefined) {
        await assert.rejects(urlOf(world), EXCEEDED);
        await client.endInput();
      }
      await received;
      await settled();
    }
    await urlOf(world);
  });
}
