/**
 * Runs `true` in a container: with `crictl exec`, synchronously and streamed, and with the bare CRI call. `nodelet cri`
 * compared with Debian's containerd with runc, alternating in one run.
 *
 * Moving a process to another cgroup waits for a grace period on all processors, unless another move happened shortly
 * before: a call that follows another is cheaper than one after a pause. Both are measured.
 *
 *   make dist && scripts/node test/bench/exec.ts [--rounds 30] [--source]
 */
import { execFile } from 'node:child_process';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs, promisify } from 'node:util';
import { clusterTool } from '../integration/cluster-tools.ts';
import { header, inTurns, row, type Side, startBoth, timed } from './both-runtimes.ts';
import { CriDriver } from './cri-driver.ts';

const { values } = parseArgs({
  options: { rounds: { type: 'string', default: '30' }, source: { type: 'boolean', default: false } },
});

/** Longer than the kernel's window for such moves. */
const REST_MS = 100;

const run = promisify(execFile);
const signal = new AbortController().signal;
const crictl = clusterTool('crictl');
const rounds = Number(values.rounds);

await using both = await startBoth(values);
const { sides } = both;
const containers = new Map<Side, string>();
for (const side of sides) {
  const driver = new CriDriver(side.runtime);
  containers.set(side, (await driver.start()).containerId);
  driver.close();
}
const containerOf = (side: Side): string => containers.get(side) ?? '';
const byCrictl = (side: Side, ...flags: string[]): Promise<number> =>
  timed(() => run(crictl, ['-r', side.runtime.endpoint, 'exec', ...flags, containerOf(side), 'true']));
const bare = (side: Side): Promise<number> =>
  timed(() => side.cri.runtime.execSync({ containerId: containerOf(side), cmd: ['true'], timeout: 0n }, signal));

header();
row('ExecSync, sequential', await inTurns(sides, rounds, bare), 'ms');
row('ExecSync after a pause', await inTurns(sides, rounds, (side) => delay(REST_MS).then(() => bare(side))), 'ms');
row('crictl exec --sync', await inTurns(sides, rounds, (side) => byCrictl(side, '--sync')), 'ms');
row('crictl exec (SPDY)', await inTurns(sides, rounds, (side) => byCrictl(side)), 'ms');
// containerd 1.6 does not support the protocol that crictl speaks over WebSocket.
const overWebSocket: number[] = [];
for (let round = 0; round < rounds; round++) overWebSocket.push(await byCrictl(sides[1], '--transport', 'websocket'));
row('crictl exec --transport websocket', [undefined, overWebSocket], 'ms');
