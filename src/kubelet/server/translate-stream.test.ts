import assert from 'node:assert/strict';
import { test } from 'node:test';
import { byteStreamPair } from '../../host/fake/memory-byte-stream.ts';
import { createMemoryHost } from '../../host/fake/memory-host.ts';
import { eventLoopTurn } from '../../host/linux/process/event-loop-turn.ts';
import type { ByteStream, IncomingUpgrade, UpgradeDecision } from '../../host/network.ts';
import { CHANNEL } from '../../streams/command-channels.ts';
import { openSpdySession } from '../../streams/spdy/open-spdy-session.ts';
import { clientFrame, serverFrames } from '../../streams/web-socket/web-socket-client.fixture.ts';
import { needsTranslation, type TranslatedSession, translateStream } from './translate-stream.ts';

const never = new AbortController().signal;
const OUTPUT = { stdin: false, stdout: true, stderr: false, tty: false };
const HANDSHAKE = { 'sec-websocket-version': '13', 'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==' };
const CLOSE = 8;

/** A runtime that answers upgrades like this. */
async function setUp(answer: (offer: IncomingUpgrade) => UpgradeDecision) {
  const host = createMemoryHost();
  const offers: string[] = [];
  const server = await host.network.serveUpgrades((offer) => {
    offers.push(`${offer.upgrade} ${offer.protocols}`);
    return answer(offer);
  });
  let sessionsEnded = 0;
  const open = async (
    streams: TranslatedSession['streams'],
    headers: Readonly<Record<string, string>> = HANDSHAKE,
    protocols = streams ? 'v5.channel.k8s.io' : 'SPDY/3.1+portforward.k8s.io',
  ) => {
    const session = {
      address: `http://127.0.0.1:${server.port}/cri/token`,
      streams,
      onEnd: () => void sessionsEnded++,
    };
    const request = { headers: { ...headers, 'sec-websocket-protocol': protocols } };
    const response = await translateStream(host, session, request, never);
    const [client, own] = byteStreamPair();
    response.serve(own);
    return { client, headers: Object.fromEntries(response.headers) };
  };
  return { ...host, offers, open, ended: () => sessionsEnded };
}

function speaks(protocol: string, serve: (stream: ByteStream) => void) {
  return (): UpgradeDecision => ({ kind: 'stream', headers: [['X-Stream-Protocol-Version', protocol]], serve });
}

/** A command that prints one line, and its outcome. */
async function printHello(transport: ByteStream): Promise<void> {
  const session = openSpdySession(transport, 'server');
  for await (const stream of session.incoming) {
    const type = stream.headers['streamtype']?.[0];
    await stream.write(Buffer.from(type === 'error' ? '{"metadata":{},"status":"Success"}' : 'hello'));
    await stream.end();
  }
}

async function messagesOf(client: ByteStream): Promise<string[]> {
  const found: string[] = [];
  for await (const { opcode, data } of serverFrames(client.chunks)) {
    if (opcode === CLOSE) break;
    found.push(`${data[0]} ${data.subarray(1)}`);
  }
  return found;
}

test('a command over a WebSocket is one over SPDY for the runtime', async () => {
  const { open, offers, ended } = await setUp(speaks('v4.channel.k8s.io', (stream) => void printHello(stream)));
  const { client, headers } = await open(OUTPUT);
  assert.deepEqual(headers, {
    Connection: 'Upgrade',
    Upgrade: 'websocket',
    'Sec-WebSocket-Accept': 's3pPLMBiTxaQ9kYGzzhZRbK+xOo=',
    'Sec-WebSocket-Protocol': 'v5.channel.k8s.io',
  });
  const { stdout, error } = CHANNEL;
  const success = `${error} {"metadata":{},"status":"Success"}`;
  assert.deepEqual(await messagesOf(client), [`${stdout} `, `${stdout} hello`, success]);
  assert.deepEqual(offers, ['SPDY/3.1 v4.channel.k8s.io']);
  assert.equal(ended(), 1);
});

const failures: Record<string, { answer: () => UpgradeDecision; message: string }> = {
  'a runtime that refuses the upgrade': {
    answer: () => ({ kind: 'refuse', status: 404, message: '404 page not found\n' }),
    message: 'unable to upgrade connection: 404 page not found',
  },
  'a runtime that speaks another protocol': {
    answer: speaks('v3.channel.k8s.io', () => {}),
    message: 'the runtime does not speak v4.channel.k8s.io',
  },
  'a runtime that ends the connection without an outcome': {
    answer: speaks('v4.channel.k8s.io', (stream) => {
      const session = openSpdySession(stream, 'server');
      void session.incoming[Symbol.asyncIterator]()
        .next()
        .then(() => session.close());
    }),
    message: 'the connection to the runtime was lost',
  },
};
for (const [name, { answer, message }] of Object.entries(failures)) {
  test(`the outcome of ${name} is an error`, async () => {
    const { open, ended } = await setUp(answer);
    const { client } = await open({ ...OUTPUT, stdout: false, stdin: true });
    const [connected, outcome = ''] = await messagesOf(client);
    assert.equal(connected, `${CHANNEL.error} `);
    assert.equal(JSON.parse(outcome.slice(2)).message, `Internal error occurred: ${message}`);
    assert.equal(ended(), 1);
  });
}

test('a port-forward in a WebSocket is the SPDY session of the runtime, byte for byte', async () => {
  const echo = async (stream: ByteStream): Promise<void> => {
    for await (const chunk of stream.chunks) await stream.write(chunk);
    stream.end();
  };
  const { open, offers, ended } = await setUp(speaks('portforward.k8s.io', (stream) => void echo(stream)));
  const { client, headers } = await open(undefined);
  assert.equal(headers['Sec-WebSocket-Protocol'], 'SPDY/3.1+portforward.k8s.io');
  const frames = serverFrames(client.chunks);
  const bytes = Buffer.of(0x80, 3, 0, 1, 0xff);
  await client.write(Buffer.concat([clientFrame(bytes.subarray(0, 2)), clientFrame(bytes.subarray(2))]));
  let echoed = Buffer.alloc(0);
  while (echoed.length < bytes.length) echoed = Buffer.concat([echoed, (await frames.next()).value?.data ?? bytes]);
  assert.deepEqual(echoed, bytes);
  await client.write(clientFrame('', { opcode: CLOSE }));
  client.end();
  assert.equal((await frames.next()).value?.opcode, CLOSE);
  assert.deepEqual(offers, ['SPDY/3.1 portforward.k8s.io']);
  for (let turn = 0; ended() === 0 && turn < 1000; turn++) await eventLoopTurn();
  assert.equal(ended(), 1);
});

test('the rejection of a port-forward is that of the runtime', async () => {
  const { open } = await setUp(() => ({ kind: 'refuse', status: 404, message: 'no such token' }));
  await assert.rejects(open(undefined), { status: 404, message: 'no such token' });
});

for (const [what, headers] of Object.entries({
  'without a key': { 'sec-websocket-version': '13' },
  'of another version': { ...HANDSHAKE, 'sec-websocket-version': '8' },
  'with a key of another length': { ...HANDSHAKE, 'sec-websocket-key': 'dGhl' },
})) {
  test(`a handshake ${what} is rejected`, async () => {
    const { open } = await setUp(speaks('portforward.k8s.io', () => {}));
    for (const streams of [OUTPUT, undefined]) {
      await assert.rejects(open(streams, headers), {
        status: 400,
        message: 'the WebSocket handshake of the client is invalid',
      });
    }
  });
}

const offersOf: Record<string, { upgrade: string; protocols: string; command: boolean; forward: boolean }> = {
  'version 5': { upgrade: 'websocket', protocols: 'v5.channel.k8s.io', command: true, forward: false },
  'version 5 among others': {
    upgrade: 'WebSocket',
    protocols: 'v4.channel.k8s.io, v5.channel.k8s.io',
    command: true,
    forward: false,
  },
  'version 4': { upgrade: 'websocket', protocols: 'v4.channel.k8s.io', command: false, forward: false },
  'a tunnel': { upgrade: 'websocket', protocols: 'SPDY/3.1+portforward.k8s.io', command: false, forward: true },
  SPDY: { upgrade: 'SPDY/3.1', protocols: '', command: false, forward: false },
};
for (const [name, { upgrade, protocols, command, forward }] of Object.entries(offersOf)) {
  test(`needsTranslation() of ${name}`, () => {
    const request = { upgrade, headers: { 'sec-websocket-protocol': protocols } };
    assert.deepEqual([needsTranslation(request, OUTPUT), needsTranslation(request, undefined)], [command, forward]);
  });
}
