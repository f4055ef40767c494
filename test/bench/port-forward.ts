/**
 * Reads 500 MB from a server in a pod through `crictl port-forward`. `nodelet cri` compared with Debian's containerd,
 * alternating in one run.
 *
 *   make dist && scripts/node test/bench/port-forward.ts [--megabytes 500] [--rounds 5] [--source]
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect } from 'node:net';
import { createInterface } from 'node:readline';
import { parseArgs } from 'node:util';
import { clusterTool } from '../integration/cluster-tools.ts';
import { header, inTurns, row, type Side, startBoth, timed } from './both-runtimes.ts';
import { CriDriver, type DrivenPod } from './cri-driver.ts';
import { measureUsage } from './resource-usage.ts';

const { values } = parseArgs({
  options: {
    megabytes: { type: 'string', default: '500' },
    rounds: { type: 'string', default: '5' },
    source: { type: 'boolean', default: false },
  },
});

const BLOCK = 65_536;
const PORT = 8080;
const blocks = Math.round((Number(values.megabytes) * 1e6) / BLOCK);
const crictl = clusterTool('crictl');
const SERVER = ['nc', '-ll', '-p', String(PORT), '-e', 'dd', 'if=/dev/zero', `bs=${BLOCK}`, `count=${blocks}`];

type Transport = 'spdy' | 'websocket';

interface Forward extends AsyncDisposable {
  readonly port: number;
}

/** `crictl port-forward`, once it listens. */
async function forward(side: Side, pod: DrivenPod, transport: Transport): Promise<Forward> {
  const args = ['-r', side.runtime.endpoint, 'port-forward', '--transport', transport, pod.podSandboxId, `0:${PORT}`];
  const process = spawn(crictl, args, { stdio: ['ignore', 'pipe', 'ignore'] });
  return {
    port: await listeningPort(process),
    async [Symbol.asyncDispose]() {
      if (process.exitCode !== null) return;
      process.kill('SIGTERM');
      await once(process, 'exit');
    },
  };
}

async function listeningPort(process: ChildProcess): Promise<number> {
  if (process.stdout === null) throw new Error('crictl has no output');
  for await (const line of createInterface({ input: process.stdout })) {
    const port = /127\.0\.0\.1:(\d+) ->/.exec(line)?.[1];
    if (port !== undefined) return Number(port);
  }
  throw new Error('crictl port-forward ended');
}

/** The number of received bytes. */
async function readAll(port: number): Promise<number> {
  let bytes = 0;
  const socket = connect({ host: '127.0.0.1', port });
  socket.on('data', (chunk: Buffer) => {
    bytes += chunk.byteLength;
  });
  await once(socket, 'close');
  return bytes;
}

async function megabytesPerSecond(port: number): Promise<number> {
  const ms = await timed(async () => {
    const bytes = await readAll(port);
    if (bytes !== blocks * BLOCK) throw new Error(`${bytes} of ${blocks * BLOCK} bytes received`);
  });
  return (blocks * BLOCK) / 1e3 / ms;
}

await using both = await startBoth(values);
const { sides } = both;
const pods = new Map<Side, DrivenPod>();
const meters = new Map(sides.map((side) => [side, measureUsage(side.runtime)]));
for (const side of sides) {
  const driver = new CriDriver(side.runtime);
  pods.set(side, await driver.start(SERVER));
  driver.close();
}

/** A new forward for each read: its set-up is included. */
async function measured(side: Side, transport: Transport): Promise<{ readonly rate: number; readonly cpuMs: number }> {
  const pod = pods.get(side);
  const meter = meters.get(side);
  if (pod === undefined || meter === undefined) throw new Error(`${side.name} has no pod`);
  await using open = await forward(side, pod, transport);
  const before = meter.cpuMs();
  return { rate: await megabytesPerSecond(open.port), cpuMs: meter.cpuMs() - before };
}

try {
  const rounds = Number(values.rounds);
  header();
  const [theirs, ours] = await inTurns(sides, rounds, (side) => measured(side, 'spdy'));
  row('port-forward over SPDY', [theirs.map(({ rate }) => rate), ours.map(({ rate }) => rate)], 'MB/s');
  row('  CPU of runtime and pod', [theirs.map(({ cpuMs }) => cpuMs), ours.map(({ cpuMs }) => cpuMs)], 'ms');
  // containerd 1.6 does not support the protocol that crictl speaks over WebSocket.
  const overWebSocket: number[] = [];
  for (let round = 0; round < rounds; round++) overWebSocket.push((await measured(sides[1], 'websocket')).rate);
  row('port-forward over WebSocket', [undefined, overWebSocket], 'MB/s');
} finally {
  for (const meter of meters.values()) meter.close();
}
