/** A client of exec that speaks `v5.channel.k8s.io`: served by the embedded runtime itself, and translated to SPDY for others. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { webSocketPair } from '../../../src/host/fake/memory-web-socket.ts';
import { eventLoopTurn } from '../../../src/host/linux/process/event-loop-turn.ts';
import type { WebSocketConnection } from '../../../src/host/network.ts';
import { translateCommand } from '../../../src/kubelet/server/translate-command.ts';
import type { ExecStreams } from '../../../src/runtime/oci/oci-runtime.ts';
import type { CommandStreams } from '../../../src/runtime/streaming/command-client.ts';
import { urlTarget } from '../../../src/runtime/streaming/fake/command-clients.ts';
import { streamingWorld } from '../../../src/runtime/streaming/fake/streaming-world.ts';
import { serveExec } from '../../../src/runtime/streaming/serve-exec.ts';
import { CHANNEL } from '../../../src/streams/command-channels.ts';

type World = ReturnType<typeof streamingWorld>;

interface Client {
  readonly connection: WebSocketConnection;
  /** Disconnects abruptly. */
  leave(): void;
}

type Connect = (world: World, url: string, wanted: CommandStreams) => Promise<Client>;

const V5 = 'v5.channel.k8s.io';

const connectDirectly: Connect = async ({ host }, url) => {
  const client = new AbortController();
  const connection = await host.network.webSocket({ ...urlTarget(url), protocols: [V5] }, client.signal);
  return { connection, leave: () => client.abort(new Error('gone')) };
};

const connectTranslated: Connect = async ({ host }, url, wanted) => {
  const client = new AbortController();
  const pair = webSocketPair(V5, client.signal, new AbortController().signal);
  const headers = [['X-Stream-Protocol-Version', 'v4.channel.k8s.io']] as const;
  const request = { ...urlTarget(url), method: 'POST', upgrade: 'SPDY/3.1', headers } as const;
  void translateCommand(pair.server, wanted, {
    clock: host.clock,
    connect: async (signal) => (await host.network.upgrade(request, signal)).stream,
  });
  return { connection: pair.client, leave: () => client.abort(new Error('gone')) };
};

const OUTPUT: CommandStreams = { stdin: false, stdout: true, stderr: true, tty: false };
const ALL: CommandStreams = { ...OUTPUT, stdin: true };
const TERMINAL: CommandStreams = { stdin: true, stdout: true, stderr: false, tty: true };

/** A process that ends when `exit` is called or it is killed. */
class Scripted implements ExecStreams {
  readonly #exited = Promise.withResolvers<number>();
  readonly input: string[] = [];
  readonly sizes: unknown[] = [];
  readonly inputEnded = Promise.withResolvers<void>();
  #out: () => AsyncIterable<Uint8Array> = async function* () {};
  #err = '';
  onWrite: () => Promise<void> = async () => {};
  isKilled = false;

  prints(out: string | (() => AsyncIterable<Uint8Array>), err = ''): this {
    this.#out =
      typeof out === 'string'
        ? async function* () {
            yield Buffer.from(out);
          }
        : out;
    this.#err = err;
    return this;
  }

  exit(code: number): void {
    this.#exited.resolve(code);
  }

  get exited(): Promise<number> {
    return this.#exited.promise;
  }

  get stdout(): AsyncIterable<Uint8Array> {
    return this.#followedByExit(this.#out());
  }

  get stderr(): AsyncIterable<Uint8Array> {
    const text = this.#err;
    return this.#followedByExit(
      (async function* () {
        if (text !== '') yield Buffer.from(text);
      })(),
    );
  }

  async *#followedByExit(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
    yield* chunks;
    await this.exited;
  }

  async write(data: Uint8Array): Promise<void> {
    await this.onWrite();
    this.input.push(Buffer.from(data).toString());
  }

  closeInput(): void {
    this.inputEnded.resolve();
  }

  async resize(size: unknown): Promise<void> {
    this.sizes.push(size);
  }

  async kill(): Promise<void> {
    this.isKilled = true;
    this.exit(137);
  }
}

interface Received {
  readonly stdout: string;
  readonly stderr: string;
  readonly error: string;
  /** The channels in the order of their first message. */
  readonly order: readonly number[];
}

async function received({ messages }: WebSocketConnection): Promise<Received> {
  const texts = new Map<number, string>();
  for await (const message of messages) {
    const channel = message[0] ?? 0;
    texts.set(channel, (texts.get(channel) ?? '') + Buffer.from(message.subarray(1)).toString());
  }
  const text = (channel: number): string => texts.get(channel) ?? '';
  const [stdout, stderr, error] = [CHANNEL.stdout, CHANNEL.stderr, CHANNEL.error].map(text);
  return { stdout: stdout ?? '', stderr: stderr ?? '', error: error ?? '', order: [...texts.keys()] };
}

function message(channel: number, text: string): Uint8Array {
  return Buffer.concat([Uint8Array.of(channel), Buffer.from(text)]);
}

async function turns(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn++) await eventLoopTurn();
}

for (const [name, connect] of [
  ['the embedded runtime', connectDirectly],
  ['translated to SPDY', connectTranslated],
] as const) {
  const exec = async (process: Scripted, streams: CommandStreams) => {
    const world = streamingWorld();
    const { clock } = world.host;
    const url = await world.server.urlFor('pod1', {
      kind: 'exec',
      streams,
      serve: (client) => serveExec(client, { command: ['cmd'], streams }, async () => process, clock),
    });
    return { clock, ...(await connect(world, url, streams)) };
  };

  test(`${name}: the connection is announced, both outputs arrive, and then success`, async () => {
    const process = new Scripted().prints('out', 'err');
    const { connection } = await exec(process, OUTPUT);
    const all = received(connection);
    await turns(50);
    process.exit(0);
    const { order, ...texts } = await all;
    assert.deepEqual(texts, { stdout: 'out', stderr: 'err', error: '{"metadata":{},"status":"Success"}' });
    assert.deepEqual([order[0], order.at(-1)], [CHANNEL.stdout, CHANNEL.error]);
  });

  test(`${name}: an exit code arrives after all output`, async () => {
    const line = 'x'.repeat(65_536);
    const process = new Scripted().prints(async function* () {
      for (let count = 0; count < 100; count++) yield Buffer.from(line);
    });
    process.exit(3);
    const { connection } = await exec(process, OUTPUT);
    const { stdout, error } = await received(connection);
    assert.equal(stdout.length, 100 * line.length);
    const { status, reason, details } = JSON.parse(error);
    assert.deepEqual(
      [status, reason, details.causes],
      ['Failure', 'NonZeroExitCode', [{ reason: 'ExitCode', message: '3' }]],
    );
  });

  test(`${name}: the client ends its input, and output goes on`, async () => {
    const process = new Scripted();
    process.prints(async function* () {
      await process.inputEnded.promise;
      yield Buffer.from(`read: ${process.input.join('')}`);
    });
    const { connection } = await exec(process, ALL);
    const all = received(connection);
    await connection.send(message(CHANNEL.stdin, 'one '));
    await connection.send(message(CHANNEL.stdin, 'two'));
    await connection.send(Uint8Array.of(CHANNEL.end, CHANNEL.stdin));
    await process.inputEnded.promise;
    process.exit(0);
    assert.equal((await all).stdout, 'read: one two');
  });

  test(`${name}: the end of another channel, and unknown ones, change nothing`, async () => {
    const process = new Scripted();
    const { connection } = await exec(process, ALL);
    const all = received(connection);
    await connection.send(Uint8Array.of(CHANNEL.end, CHANNEL.stdout));
    await connection.send(Uint8Array.of(CHANNEL.end));
    await connection.send(message(9, 'what'));
    await connection.send(new Uint8Array());
    await connection.send(message(CHANNEL.stdin, 'in'));
    await turns(50);
    assert.deepEqual(process.input, ['in']);
    process.exit(0);
    await all;
  });

  test(`${name}: sizes of a terminal`, async () => {
    const process = new Scripted().prints('$ ');
    const { connection } = await exec(process, TERMINAL);
    const all = received(connection);
    await connection.send(message(CHANNEL.resize, '{"Width":80,"Height":25}'));
    await turns(50);
    assert.equal(process.sizes.length, 1);
    process.exit(0);
    assert.equal((await all).stdout, '$ ');
  });

  test(`${name}: a client that leaves ends the command, after its input is delivered`, async () => {
    const process = new Scripted();
    const { connection, leave, clock } = await exec(process, ALL);
    await connection.send(message(CHANNEL.stdin, 'last words'));
    await turns(50);
    leave();
    await turns(50);
    await clock.runUntilIdle();
    assert.deepEqual(process.input, ['last words']);
    assert.equal(process.isKilled, true);
  });

  test(`${name}: input is delivered after the client has closed its connection`, async () => {
    const process = new Scripted();
    const reads = Promise.withResolvers<void>();
    process.onWrite = () => reads.promise;
    const { connection, clock } = await exec(process, ALL);
    for (const word of ['one', 'two', 'three']) await connection.send(message(CHANNEL.stdin, word));
    connection.close();
    await turns(50);
    assert.deepEqual(process.input, []);
    reads.resolve();
    await process.inputEnded.promise;
    await turns(50);
    await clock.runUntilIdle();
    assert.deepEqual([process.input.join(''), process.isKilled], ['onetwothree', true]);
  });

  test(`${name}: a command that does not read slows the client down, and loses nothing`, async () => {
    const process = new Scripted();
    const reads = Promise.withResolvers<void>();
    process.onWrite = () => reads.promise;
    const { connection } = await exec(process, ALL);
    const all = received(connection);
    let sent = 0;
    const sending = (async () => {
      for (; sent < 200; sent++) await connection.send(message(CHANNEL.stdin, 'y'.repeat(65_536)));
      await connection.send(Uint8Array.of(CHANNEL.end, CHANNEL.stdin));
    })();
    await turns(300);
    assert.ok(sent < 150, `${sent} messages were taken`);
    reads.resolve();
    await sending;
    await process.inputEnded.promise;
    assert.equal(process.input.join('').length, 200 * 65_536);
    process.exit(0);
    await all;
  });

  test(`${name}: a client that does not read slows the command down, and loses nothing`, async () => {
    let printed = 0;
    const process = new Scripted().prints(async function* () {
      for (; printed < 200; printed++) yield Buffer.alloc(65_536, 'z');
    });
    process.exit(0);
    const { connection } = await exec(process, OUTPUT);
    await turns(300);
    assert.ok(printed < 150, `${printed} chunks were taken`);
    assert.equal((await received(connection)).stdout.length, 200 * 65_536);
  });
}
