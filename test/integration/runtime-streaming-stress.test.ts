/**
 * A hundred parallel exec sessions, with attaches and a hundred forwarded connections, over every transport and with
 * every kind of client. All of it is drawn from a seed: `NODELET_SEED=7` is another run.
 */
import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { SeededRandom } from '../../src/host/fake/seeded-random.ts';
import { createLinuxHost } from '../../src/host/linux/linux-host.ts';
import type { ExecConnection } from '../../src/kubelet/local-api/exec-connection.ts';
import { execOverSpdy, spdyUpgrade } from '../../src/kubelet/local-api/exec-over-spdy.ts';
import { execOverWebSocket } from '../../src/kubelet/local-api/exec-over-web-socket.ts';
import { EXEC_PROTOCOL, type ExecEnd } from '../../src/kubelet/local-api/exec-protocol.ts';
import { connectForwarder, type SpdyForwarder } from '../../src/runtime/streaming/fake/forward-clients.ts';
import { clusterTool, findClusterTool } from './cluster-tools.ts';
import { embeddedSkipReason } from './runtime-fixture.ts';
import {
  cgroupFolder,
  childrenOf,
  memoryOf,
  processesIn,
  type Scene,
  type ScenePod,
  sceneAround,
  settledRuntimeResources,
  signal,
  WAITS,
} from './runtime-pod.ts';
import { listRuntimeResources } from './runtime-resources.ts';
import { becomes } from './until.ts';

const SEED = Number(process.env['NODELET_SEED'] ?? 1);
const EXECS = 100;
const CRICTLS = 6;
const ATTACHES = 10;
const FORWARDERS = 4;
const FORWARDED_BY_EACH = 25;
const PORT = 8080;
/** Echoes its input, to the end. busybox has no server for a hundred connections. */
const ECHO = `require('node:net').createServer({ allowHalfOpen: true }, (socket) => {
  socket.on('error', () => {});
  socket.pipe(socket);
}).listen(${PORT}, () => console.log('listens'))`;
const TRANSPORTS = ['v5', 'v4', 'spdy'] as const;
type Transport = (typeof TRANSPORTS)[number];
const { processes, network } = createLinuxHost(process.env);

/** The behaviour of one exec client. Resolves when it is done and all its checks have passed. */
type Trial = (exec: Execs, transport: Transport, random: SeededRandom) => Promise<void>;

/** Starts a command in the waiting container. `leave` disconnects without closing. */
type Execs = (command: string, options: ExecOptions, transport: Transport) => Promise<Client>;

interface ExecOptions {
  readonly stdin?: boolean;
  readonly tty?: boolean;
}

interface Client extends ExecConnection {
  leave(): void;
}

const TRIALS: Readonly<Record<string, Trial>> = {
  'all that is typed comes back': async (exec, transport, random) => {
    const typed = Buffer.from(random.bytes(below(random, 300_000)));
    const command = canEndInput(transport) ? 'cat' : `head -c ${typed.length}`;
    const client = await exec(command, { stdin: true }, transport);
    const [{ stdout, end }] = await Promise.all([received(client), typeAll(client, typed, random)]);
    assert.ok(stdout.equals(typed), `${stdout.length} of ${typed.length} bytes came back`);
    assert.deepEqual(end, { exitCode: 0 });
  },
  'both outputs and the exit code': async (exec, transport, random) => {
    const code = below(random, 256);
    const client = await exec(`echo out; echo err >&2; exit ${code}`, {}, transport);
    assert.deepEqual(textsOf(await received(client)), { stdout: 'out\n', stderr: 'err\n', end: { exitCode: code } });
  },
  'a slow reader misses nothing': async (exec, transport) => {
    const client = await exec('seq 1 60000; exit 3', {}, transport);
    const { stdout, end } = await received(client, async () => {
      for (let turn = 0; turn < 50; turn++) await nextTurn();
    });
    assert.equal(stdout.toString(), lines(60_000));
    assert.deepEqual(end, { exitCode: 3 });
  },
  'output during a pause of the reader is complete afterwards, with its end': async (exec, transport) => {
    const client = await exec('seq 1 1000; exit 4', {}, transport);
    for (let turn = 0; turn < 500; turn++) await nextTurn();
    const { stdout, end } = await received(client);
    assert.deepEqual([stdout.toString(), end], [lines(1000), { exitCode: 4 }]);
  },
  'output of a process that outlives the command': async (exec, transport) => {
    const client = await exec('(sleep 0.3; echo late) & exit 6', {}, transport);
    assert.deepEqual(textsOf(await received(client)), { stdout: 'late\n', stderr: '', end: { exitCode: 6 } });
  },
  'a command that needs no input, which comes all the same': async (exec, transport, random) => {
    const client = await exec('echo done; exit 5', { stdin: true }, transport);
    const typing = typeAll(client, Buffer.from(random.bytes(1_000_000)), random).catch(() => {}); // the input is not read
    assert.deepEqual(textsOf(await received(client)), { stdout: 'done\n', stderr: '', end: { exitCode: 5 } });
    client.leave();
    await typing;
  },
  'a terminal': async (exec, transport) => {
    const sized = 'until [ "$(stty size 2> /dev/null)" = "31 91" ]; do sleep 0.02; done';
    const client = await exec(
      `${sized}; echo ready; read x; echo "got $x"; exit 7`,
      { stdin: true, tty: true },
      transport,
    );
    await client.resize({ columns: 91, rows: 31 });
    let seen = '';
    const end = await client.receive({
      stdout: async (data) => {
        seen += Buffer.from(data);
        if (seen === 'ready\r\n') await client.stdin(Buffer.from('typed\r'));
      },
      stderr: async () => {},
    });
    assert.deepEqual([seen, end], ['ready\r\ntyped\r\ngot typed\r\n', { exitCode: 7 }]);
  },
  'a client that breaks off in the middle': async (exec, transport, random) => {
    const client = await exec('cat; sleep 1000', { stdin: true }, transport);
    const output = received(client, async () => client.leave()).catch(() => {}); // the connection is cut
    await typeAll(client, Buffer.from(random.bytes(100_000)), random).catch(() => {});
    await output;
  },
  'a client that never reads, and goes': async (exec, transport, random) => {
    const client = await exec('yes; sleep 1000', {}, transport);
    for (let turn = below(random, 2000); turn > 0; turn--) await nextTurn();
    client.leave();
  },
  'a client that goes at once': async (exec, transport) => {
    const client = await exec('sleep 1000', {}, transport);
    client.leave();
  },
};

describe('stress tests of streaming', { skip: embeddedSkipReason() }, () => {
  let scene: Scene;
  sceneAround((started) => {
    scene = started;
  });

  test(`${EXECS} execs, ${ATTACHES} attaches and ${FORWARDERS * FORWARDED_BY_EACH} forwarded connections at once`, async (t) => {
    const pod = await scene.runPod();
    t.after(pod.remove);
    const waiting = await pod.startReady(WAITS);
    const server = await processes.spawn({
      program: '/usr/bin/setpriv',
      args: [
        '--pdeathsig',
        'TERM',
        'nsenter',
        '-t',
        String(await scene.pid(waiting)),
        '-n',
        process.execPath,
        '-e',
        ECHO,
      ],
      env: { PATH: process.env['PATH'] ?? '' },
      streams: 'outputOnly',
    });
    t.after(() => server.kill());
    for await (const _line of server.stdout) break;
    const reading = await pod.startReady(READS, { stdin: true });
    const cgroup = cgroupFolder('pids', pod.config.linux?.cgroupParent ?? '');
    const inUse = () => ({
      children: childrenOf(scene.runtime.pid()).length,
      inPod: processesIn(cgroup).length,
      files: [waiting, reading].flatMap((id) =>
        readdirSync(join(scene.runtime.folder, 'state/runtime/containers', id)),
      ),
    });
    const descriptors = (): number => readdirSync(`/proc/${scene.runtime.pid()}/fd`).length;
    const nothing = inUse();
    const all = async (execs: number): Promise<void> => {
      const random = new SeededRandom(SEED);
      await Promise.all([
        ...execTrials(scene, waiting, execs, random),
        ...crictlTrials(scene, waiting, random),
        attachTrial(scene, reading),
        ...Array.from({ length: FORWARDERS }, (_, index) =>
          forwardTrial(scene, pod, index, new SeededRandom(SEED + index)),
        ),
      ]);
    };
    await all(Object.keys(TRIALS).length); // resources that exist from the first round on are not leaks
    await becomes(inUse, nothing);
    const before = descriptors();
    const traces = await settledRuntimeResources(scene.runtime);
    const begun = performance.now();
    await all(EXECS);
    const memory = memoryOf(scene.runtime.pid(), 'VmHWM');
    t.diagnostic(`${Math.round(performance.now() - begun)} ms, with at most ${memory} KiB in the runtime`);
    await becomes(inUse, nothing);
    await becomes(() => descriptors() <= before, true);
    await becomes(() => listRuntimeResources(scene.runtime), traces);
  });
});

function execTrials(scene: Scene, containerId: string, count: number, random: SeededRandom): Promise<void>[] {
  const names = Object.keys(TRIALS);
  const exec: Execs = async (command, { stdin = false, tty = false }, transport) => {
    const request = { containerId, cmd: ['sh', '-c', command], tty, stdin, stdout: true, stderr: !tty };
    return connected((await scene.cri.runtime.exec(request, signal)).url, transport, { stdin, tty });
  };
  return Array.from({ length: count }, async (_, index) => {
    const name = names[index % names.length] ?? '';
    const transport = TRANSPORTS[Math.floor(index / names.length) % TRANSPORTS.length] ?? 'spdy';
    const own = new SeededRandom(below(random, 2 ** 31));
    await TRIALS[name]?.(exec, transport, own).catch((error: unknown) => {
      throw new Error(`exec ${index} by ${transport}: ${name}`, { cause: error });
    });
  });
}

async function connected(url: string, transport: Transport, options: Required<ExecOptions>): Promise<Client> {
  const client = new AbortController();
  const leave = (): void => client.abort(new Error('gone'));
  const { hostname, port, pathname: path } = new URL(url);
  const endpoint = { target: { host: hostname, port: Number(port) }, path };
  if (transport === 'spdy') {
    const upgraded = await network.upgrade(spdyUpgrade(endpoint), client.signal);
    const connection = await execOverSpdy(upgraded, options, client.signal);
    return { ...connection, leave };
  }
  const protocols = [EXEC_PROTOCOL[transport]];
  return { ...execOverWebSocket(await network.webSocket({ ...endpoint, protocols }, client.signal)), leave };
}

function canEndInput(transport: Transport): boolean {
  return transport !== 'v4';
}

interface Received {
  readonly stdout: Buffer;
  readonly stderr: Buffer;
  readonly end: ExecEnd;
}

/** All output until its end, then closes. `pause` runs between the pieces. */
async function received(client: Client, pause = async (): Promise<void> => {}): Promise<Received> {
  const [stdout, stderr]: [Uint8Array[], Uint8Array[]] = [[], []];
  const taken = (pieces: Uint8Array[]) => async (data: Uint8Array) => {
    pieces.push(data);
    await pause();
  };
  const end = await client.receive({ stdout: taken(stdout), stderr: taken(stderr) });
  client.leave();
  return { stdout: Buffer.concat(stdout), stderr: Buffer.concat(stderr), end };
}

function textsOf({ stdout, stderr, end }: Received) {
  return { stdout: stdout.toString(), stderr: stderr.toString(), end };
}

/** In pieces of random size, then the end. */
async function typeAll(client: Client, data: Uint8Array, random: SeededRandom): Promise<void> {
  for (let at = 0; at < data.length; ) {
    const size = 1 + below(random, 40_000);
    await client.stdin(data.subarray(at, at + size));
    at += size;
  }
  await client.endStdin();
}

function lines(count: number): string {
  return Array.from({ length: count }, (_, index) => `${index + 1}\n`).join('');
}

function below(random: SeededRandom, limit: number): number {
  return Math.floor(random.fraction() * limit);
}

function crictlTrials(scene: Scene, containerId: string, random: SeededRandom): Promise<void>[] {
  if (findClusterTool('crictl') === undefined) return [];
  return Array.from({ length: CRICTLS }, async (_, index) => {
    const typed = Buffer.from(random.bytes(100_000)).toString('hex');
    const by = ['--transport', index % 2 === 0 ? 'spdy' : 'websocket'];
    const client = await processes.spawn({
      program: clusterTool('crictl'),
      args: ['-r', scene.runtime.endpoint, 'exec', ...by, '-i', containerId, 'cat'],
      env: { PATH: process.env['PATH'] ?? '', HOME: '/nonexistent' },
      streams: 'all',
    });
    const output = Promise.all([textOf(client.stdout), textOf(client.stderr), client.exited]);
    await client.write(Buffer.from(typed));
    client.closeInput();
    const [stdout, stderr, exitCode] = await output;
    assert.deepEqual([exitCode, stdout === typed], [0, true], stderr);
  });
}

const READS = 'echo ready; while read line; do echo "got $line"; done';

/** Each client types its own line, sees the lines of all, and leaves in its own way. */
async function attachTrial(scene: Scene, containerId: string): Promise<void> {
  const names = Array.from({ length: ATTACHES }, (_, index) => `client-${index}`);
  const clients = await Promise.all(
    names.map(async (name, index) => {
      const transport = TRANSPORTS[index % TRANSPORTS.length] ?? 'spdy';
      const request = { containerId, tty: false, stdin: true, stdout: true, stderr: true };
      const { url } = await scene.cri.runtime.attach(request, signal);
      const client = watching(await connected(url, transport, { stdin: true, tty: false }));
      await client.type(`${name} is there`);
      await client.sees(`${name} is there`);
      return { ...client, name, endsInput: index % 2 === 0 && canEndInput(transport) };
    }),
  );
  await Promise.all(
    clients.map(async ({ name, type, sees, endsInput, endInput, leave, ended }) => {
      await type(`${name} says hello`);
      for (const each of names) await sees(`${each} says hello`);
      if (endsInput) {
        await endInput();
        assert.deepEqual(await ended, { exitCode: 0 });
      }
      leave();
      await ended.catch(() => {}); // the connection is cut
    }),
  );
}

function watching(client: Client) {
  let seen = '';
  let more = Promise.withResolvers<void>();
  const stdout = async (data: Uint8Array): Promise<void> => {
    seen += Buffer.from(data);
    more.resolve();
    more = Promise.withResolvers();
  };
  const ended = client.receive({ stdout, stderr: async () => {} });
  return {
    ended,
    leave: client.leave,
    type: (line: string) => client.stdin(Buffer.from(`${line}\n`)),
    endInput: () => client.endStdin(),
    sees: async (line: string): Promise<void> => {
      while (!seen.includes(`got ${line}\n`)) {
        const end = await Promise.race([more.promise, ended]);
        if (end) assert.fail(`${JSON.stringify(end)} instead of ${line}`);
      }
    },
  };
}

type Forwarded = (client: SpdyForwarder, random: SeededRandom) => Promise<void>;

const FORWARDED: readonly Forwarded[] = [
  async function comesBack(client, random) {
    await comesBackFrom(client, random.bytes(below(random, 400_000)));
  },
  async function comesBackSlowly(client, random) {
    await comesBackFrom(client, random.bytes(below(random, 400_000)), 20);
  },
  async function isReset(client, random) {
    const { data } = await client.connect(PORT);
    await data.write(random.bytes(below(random, 100_000)));
    await data.reset();
  },
  async function noListener(client) {
    const { data, error } = await client.connect(PORT + 1);
    const [words] = await Promise.all([textOf(error.chunks), Array.fromAsync(data.chunks)]);
    assert.match(words, /failed to connect to localhost:8081 inside namespace/);
  },
];

async function comesBackFrom(client: SpdyForwarder, sent: Uint8Array, turns = 0): Promise<void> {
  const { data, error } = await client.connect(PORT);
  const words = textOf(error.chunks);
  const sending = data.write(sent).then(() => data.end());
  const answer: Uint8Array[] = [];
  for await (const chunk of data.chunks) {
    answer.push(chunk);
    for (let turn = 0; turn < turns; turn++) await nextTurn();
  }
  const come = Buffer.concat(answer);
  assert.ok(come.equals(sent), `${come.length} of ${sent.length} bytes came back; ${await words}`);
  await sending;
}

async function forwardTrial(scene: Scene, pod: ScenePod, index: number, random: SeededRandom): Promise<void> {
  const { url } = await scene.cri.runtime.portForward({ podSandboxId: pod.id, port: [] }, signal);
  const client = await connectForwarder({ network }, url, 'spdy');
  await Promise.all(
    Array.from({ length: FORWARDED_BY_EACH }, (_, each) => {
      const behaviour = FORWARDED[each % FORWARDED.length] ?? assert.fail();
      return behaviour(client, new SeededRandom(below(random, 2 ** 31))).catch((error: unknown) => {
        throw new Error(`forwarded connection ${each}: ${behaviour.name}`, { cause: error });
      });
    }),
  );
  if (index < 2) client.leave();
  else await client.session.close();
}

async function textOf(chunks: AsyncIterable<Uint8Array>): Promise<string> {
  return Buffer.concat(await Array.fromAsync(chunks)).toString();
}
