/** exec, attach and port-forward with crictl as the client, over SPDY and WebSocket; real containers. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, connect, createServer } from 'node:net';
import { describe, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { NamespaceMode } from '../../src/cri/generated/runtime-v1.ts';
import { createLinuxHost } from '../../src/host/linux/linux-host.ts';
import type { RunningProgram } from '../../src/host/processes.ts';
import { openSpdySession } from '../../src/streams/spdy/open-spdy-session.ts';
import { clusterTool, clusterToolsSkipReason } from './cluster-tools.ts';
import { embeddedSkipReason } from './runtime-fixture.ts';
import { type PodChange, type Scene, type ScenePod, sceneAround, signal, WAITS } from './runtime-pod.ts';
import { until } from './until.ts';

const TRANSPORTS = ['spdy', 'websocket'] as const;
const PORT = 8080;
const SERVED = PORT.toString(16).toUpperCase().padStart(4, '0');
/** Echoes its input, to the end. */
const ECHO = `nc -ll -p ${PORT} -e cat & until grep -q ":${SERVED} " /proc/net/tcp*; do sleep 0.02; done; ${WAITS}`;
const HOST_NETWORK: PodChange = {
  linux: {
    securityContext: { namespaceOptions: { network: NamespaceMode.NODE, pid: NamespaceMode.CONTAINER } },
  },
};
const READS = 'echo ready; while read line; do echo "got $line"; echo "not $line" >&2; done; echo closed; exit 3';
const { processes, network } = createLinuxHost(process.env);

interface Finished {
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
}

describe('streaming with crictl', { skip: embeddedSkipReason() || clusterToolsSkipReason('crictl') }, () => {
  let scene: Scene;
  sceneAround((started) => {
    scene = started;
  });

  const crictl = (streams: 'all' | 'terminal', ...args: string[]): Promise<RunningProgram> => {
    const program = clusterTool('crictl');
    // As a Go program reads the terminal type and its own configuration.
    const env = { PATH: process.env['PATH'] ?? '', TERM: 'dumb', HOME: '/nonexistent' };
    return processes.spawn({ program, args: ['-r', scene.runtime.endpoint, ...args], env, streams });
  };
  const withPod = async (use: (pod: ScenePod) => Promise<void>, change?: PodChange): Promise<void> => {
    const pod = await scene.runPod(change);
    try {
      await use(pod);
    } finally {
      await pod.remove();
    }
  };

  for (const transport of TRANSPORTS) {
    const by = ['--transport', transport];

    test(`exec over ${transport}: both outputs and the exit code`, () =>
      withPod(async (pod) => {
        const id = await pod.startReady(WAITS);
        const client = await crictl('all', 'exec', ...by, id, 'sh', '-c', 'echo out; echo err >&2; exit 5');
        const { exitCode, stdout, stderr } = await finished(client);
        assert.deepEqual([exitCode, stdout], [1, 'out\n']);
        assert.match(stderr, /^err$/m);
        assert.match(stderr, /command terminated with exit code 5/);
      }));

    test(`exec over ${transport}: an input that ends, and much output`, () =>
      withPod(async (pod) => {
        const id = await pod.startReady(WAITS);
        const client = await crictl('all', 'exec', ...by, '-i', id, 'sh', '-c', 'wc -c; head -c 3000000 /dev/zero');
        const all = finished(client);
        for (let count = 0; count < 40; count++) await client.write(new Uint8Array(50_000));
        client.closeInput();
        const { exitCode, stdout } = await all;
        assert.deepEqual([exitCode, stdout.slice(0, 8), stdout.length], [0, '2000000\n', 3_000_008]);
      }));

    test(`exec over ${transport}: a terminal of the client's size`, () =>
      withPod(async (pod) => {
        const id = await pod.startReady(WAITS);
        const sized = 'until [ "$(stty size)" = "31 91" ]; do sleep 0.02; done; echo sized';
        const line = `${sized}; read word; echo "got $word"; exit 7`;
        const client = await crictl('terminal', 'exec', ...by, '-it', id, 'sh', '-c', line);
        let seen = '';
        const sizing = resizeUntil(client, { width: 91, height: 31 }, () => seen.includes('sized\r\n'));
        for await (const chunk of client.stdout) {
          seen += Buffer.from(chunk);
          if (seen.endsWith('sized\r\n')) await client.write(Buffer.from('typed\r'));
        }
        await sizing;
        assert.match(seen, /got typed\r\n/);
        assert.match(seen, /command terminated with exit code 7/);
        await client.exited;
      }));

    test(`exec over ${transport}: a command that does not start`, () =>
      withPod(async (pod) => {
        const id = await pod.startReady(WAITS);
        const { exitCode, stderr } = await finished(await crictl('all', 'exec', ...by, id, 'nosuch'));
        assert.equal(exitCode, 1);
        assert.match(stderr, /error executing command in container: .*nosuch/);
      }));

    test(`exec over ${transport}: the process is killed with its client`, () =>
      withPod(async (pod) => {
        const id = await pod.startReady(WAITS);
        const client = await crictl('all', 'exec', ...by, id, 'sh', '-c', 'echo up; exec sleep 2222');
        for await (const _chunk of client.stdout) break;
        await client.kill();
        const others = 'for f in /proc/[0-9]*/cmdline; do tr "\\0" " " < $f; echo; done';
        await until(async () => ((await scene.ask(id, others)).includes('sleep 2222') ? undefined : true));
      }));

    test(`attach over ${transport}: both outputs and the input, to the container's exit`, () =>
      withPod(async (pod) => {
        const id = await pod.startReady(READS, { stdin: true, stdinOnce: true });
        const client = await crictl('all', 'attach', ...by, '-i', id);
        const all = finished(client);
        await client.write(Buffer.from('one\ntwo\n'));
        client.closeInput();
        const { exitCode, stdout, stderr } = await all;
        assert.deepEqual([exitCode, stdout], [0, 'got one\ngot two\nclosed\n']);
        assert.match(stderr, /not one\nnot two/);
        assert.equal((await scene.exited(id)).exitCode, 3);
      }));

    test(`attach over ${transport}: ends with the input of its client where the container keeps its own`, () =>
      withPod(async (pod) => {
        const id = await pod.startReady(READS, { stdin: true });
        const client = await crictl('all', 'attach', ...by, '-i', id);
        const all = finished(client);
        await client.write(Buffer.from('one\n'));
        await until(async () => (await scene.logLines(id)).includes('got one') || undefined);
        client.closeInput();
        assert.equal((await all).exitCode, 0);
        assert.equal((await scene.logLines(id)).includes('closed'), false);
      }));

    test(`attach over ${transport}: the container survives a killed client`, () =>
      withPod(async (pod) => {
        const id = await pod.startReady('trap "exit 143" TERM; echo ready; while sleep 0.05; do echo tick; done');
        const client = await crictl('all', 'attach', ...by, id);
        for await (const _chunk of client.stdout) break;
        await client.kill();
        const ticks = async () => (await scene.logLines(id)).length;
        const before = await ticks();
        await until(async () => (await ticks()) > before + 3 || undefined);
      }));

    test(`attach over ${transport}: a terminal`, () =>
      withPod(async (pod) => {
        const id = await pod.start('while read line; do stty size; echo "got $line"; done', { stdin: true, tty: true });
        const client = await crictl('terminal', 'attach', ...by, '-it', id);
        let seen = '';
        const sizing = resizeUntil(client, { width: 92, height: 32 }, () => seen.includes('32 92\r\n'));
        // A size change arrives some time later: polled until it has.
        await client.write(Buffer.from('typed\r'));
        for await (const chunk of client.stdout) {
          seen += Buffer.from(chunk);
          if (seen.includes('32 92\r\ngot typed')) break;
          if (seen.endsWith('got typed\r\n')) await client.write(Buffer.from('typed\r'));
        }
        await sizing;
        await client.kill();
      }));

    test(`port-forward over ${transport}: each side of a connection closes independently`, () =>
      withPod(async (pod) => {
        await pod.startReady(ECHO);
        const { client, port } = await forward(pod, by, PORT);
        for (const size of [10, 1_000_000]) assert.equal((await answerTo(port, 'x'.repeat(size))).length, size);
        await client.kill();
      }));

    test(`port-forward over ${transport}: a hundred connections in parallel, to a host-network pod`, () =>
      withPod(async (pod) => {
        const server = createServer({ allowHalfOpen: true }, (socket) => socket.pipe(socket)).listen(0, '127.0.0.1');
        await once(server, 'listening');
        const { port: served } = server.address() as AddressInfo; // the server listens on TCP
        const { client, port } = await forward(pod, by, served);
        const texts = Array.from({ length: 100 }, (_, index) => `${index} `.repeat(10_000));
        const answers = await Promise.all(texts.map((text) => answerTo(port, text)));
        assert.ok(answers.every((answer, index) => answer === texts[index]));
        await client.kill();
        server.close();
      }, HOST_NETWORK));

    test(`port-forward over ${transport}: the reason why a port does not answer`, () =>
      withPod(async (pod) => {
        const { client, port } = await forward(pod, by, PORT);
        const said = textOf(client.stderr);
        assert.equal(await answerTo(port, 'hello'), '');
        await until(() => client.exited);
        assert.match(
          await said,
          new RegExp(
            `error forwarding port ${PORT} to pod ${pod.id}, uid : failed to connect to localhost:${PORT} inside namespace`,
          ),
        );
      }));
  }

  /** `crictl port-forward`, once it listens. */
  const forward = async (pod: ScenePod, by: readonly string[], podPort: number) => {
    const client = await crictl('all', 'port-forward', ...by, pod.id, `0:${podPort}`);
    let seen = '';
    const port = Promise.withResolvers<number>();
    void (async () => {
      for await (const chunk of client.stdout) {
        seen += Buffer.from(chunk);
        const [, found] = /127\.0\.0\.1:(\d+) ->/.exec(seen) ?? [];
        if (found !== undefined) port.resolve(Number(found));
      }
      port.reject(new Error(`crictl ended: ${seen}`));
    })().catch(() => {});
    return { client, port: await port.promise };
  };

  test('attach: a hundred clients of both protocols in parallel, some of which break', () =>
    withPod(async (pod) => {
      const line = 'echo ready; while read line && [ "$line" != end ]; do echo "$line"; done';
      const id = await pod.startReady(line, { stdin: true });
      const clients = await Promise.all(
        Array.from({ length: 100 }, async (_, index) => {
          const request = { containerId: id, tty: false, stdin: index === 0, stdout: true, stderr: false };
          const { url } = await scene.cri.runtime.attach(request, signal);
          return index % 2 === 0 ? spdyClient(url, index === 0) : webSocketClient(url);
        }),
      );
      for (const client of clients.slice(90)) client.leave();
      const [typist, ...others] = clients.slice(0, 90);
      assert.ok(typist);
      // A connected client is attached a little later.
      let isSeen = false;
      const seen = Promise.all([typist, ...others].map((client) => client.until('here\n'))).then(() => {
        isSeen = true;
      });
      for (; !isSeen; await Promise.race([seen, delay(50)])) await typist.type('here\n');
      const expected = [1, 2, 3, 4, 5].map((number) => `line ${number}\n`).join('');
      await typist.type(`${expected}end\n`);
      const texts = await Promise.all([typist, ...others].map((client) => client.rest()));
      assert.deepEqual(new Set(texts.map((text) => text.replaceAll('here\n', ''))), new Set([expected]));
    }));
});

interface Watcher {
  type(text: string): Promise<void>;
  until(text: string): Promise<void>;
  /** All output, when it has ended. */
  rest(): Promise<string>;
  leave(): void;
}

async function spdyClient(url: string, hasInput: boolean): Promise<Watcher> {
  const gone = new AbortController();
  const headers = [['X-Stream-Protocol-Version', 'v4.channel.k8s.io']] as const;
  const request = { ...placeOf(url), method: 'POST', upgrade: 'SPDY/3.1', headers } as const;
  const session = openSpdySession((await network.upgrade(request, gone.signal)).stream, 'client');
  await session.open({ streamtype: ['error'] }, signal);
  const input = hasInput ? await session.open({ streamtype: ['stdin'] }, signal) : undefined;
  const output = await session.open({ streamtype: ['stdout'] }, signal);
  const reader = readerOf(output.chunks);
  return { ...reader, type: async (text) => input?.write(Buffer.from(text)), leave: () => gone.abort() };
}

async function webSocketClient(url: string): Promise<Watcher> {
  const gone = new AbortController();
  const connection = await network.webSocket({ ...placeOf(url), protocols: ['v4.channel.k8s.io'] }, gone.signal);
  async function* output(): AsyncGenerator<Uint8Array> {
    for await (const message of connection.messages) if (message[0] === 1) yield message.subarray(1);
  }
  return { ...readerOf(output()), type: async () => {}, leave: () => gone.abort(new Error('gone')) };
}

function readerOf(chunks: AsyncIterable<Uint8Array>): Pick<Watcher, 'until' | 'rest'> {
  const source = chunks[Symbol.asyncIterator]();
  let seen = '';
  const more = async (): Promise<boolean> => {
    const next = await source.next();
    if (!next.done) seen += Buffer.from(next.value);
    return !next.done;
  };
  return {
    until: async (text) => {
      while (!seen.endsWith(text) && (await more()));
    },
    rest: async () => {
      while (await more());
      return seen;
    },
  };
}

function placeOf(url: string) {
  const { hostname, port, pathname } = new URL(url);
  return { target: { host: hostname, port: Number(port) }, path: pathname };
}

/** crictl loses a size change while it starts to watch for them: so there is another one. */
async function resizeUntil(
  client: RunningProgram,
  { width, height }: { readonly width: number; readonly height: number },
  isSeen: () => boolean,
): Promise<void> {
  let isOver = false;
  void client.exited.finally(() => {
    isOver = true;
  });
  await client.resize({ width, height });
  for (await delay(100); !isSeen() && !isOver; await delay(100)) {
    await client.resize({ width, height: height - 1 });
    await client.resize({ width, height });
  }
}

async function answerTo(port: number, text: string): Promise<string> {
  const socket = connect({ host: '127.0.0.1', port, allowHalfOpen: true });
  socket.on('error', () => {}); // followed by 'close'
  let answer = '';
  socket.on('data', (chunk: Buffer) => {
    answer += chunk;
  });
  socket.once('end', () => socket.end());
  socket.end(text);
  await once(socket, 'close');
  return answer;
}

async function finished({ stdout, stderr, exited }: RunningProgram): Promise<Finished> {
  const [out, err, exitCode] = await Promise.all([textOf(stdout), textOf(stderr), exited]);
  return { exitCode, stdout: out, stderr: err };
}

async function textOf(chunks: AsyncIterable<Uint8Array>): Promise<string> {
  return Buffer.concat(await Array.fromAsync(chunks)).toString();
}
