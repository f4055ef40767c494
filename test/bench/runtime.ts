/**
 * The embedded runtime compared with Debian's containerd with runc, driven through CRI by the same calls in one run: the time
 * to start and to remove pods, one at a time and 30 at once; the CPU time of all processes of each side; and their memory with
 * 60 pods. The two alternate.
 *
 *   make dist && scripts/node test/bench/runtime.ts [--rounds 20] [--at-once 30] [--pods 60] [--source]
 *
 * `--source` runs `nodelet cri` from the checkout instead of dist/nodelet.mjs.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { median } from '../integration/cri-calls.ts';
import { startBoth } from './both-runtimes.ts';
import { CriDriver, type DrivenPod } from './cri-driver.ts';
import { measureUsage, type UsageMeter } from './resource-usage.ts';

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '20' },
    'at-once': { type: 'string', default: '30' },
    bursts: { type: 'string', default: '3' },
    pods: { type: 'string', default: '60' },
    source: { type: 'boolean', default: false },
  },
});

/** Both clean up after a removal; nothing is measured meanwhile. */
const QUIET_MS = 300;

interface Side {
  readonly name: string;
  readonly driver: CriDriver;
  readonly meter: UsageMeter;
}

/** The figures of one round. */
interface Spent {
  readonly startMs: number;
  readonly endMs: number;
  readonly startCpuMs: number;
  readonly endCpuMs: number;
}

async function measured(side: Side, count: number): Promise<Spent> {
  await delay(QUIET_MS);
  const { driver, meter } = side;
  const cpu = [meter.cpuMs()];
  const times = [performance.now()];
  const pods = await Promise.all(Array.from({ length: count }, () => driver.start()));
  times.push(performance.now());
  await delay(QUIET_MS); // background work belongs to the start
  cpu.push(meter.cpuMs());
  times.push(performance.now());
  await Promise.all(pods.map((pod) => driver.end(pod)));
  times.push(performance.now());
  await delay(QUIET_MS);
  cpu.push(meter.cpuMs());
  const [began = 0, started = 0, ending = 0, ended = 0] = times;
  const [before = 0, between = 0, after = 0] = cpu;
  return {
    startMs: started - began,
    endMs: ended - ending,
    startCpuMs: between - before,
    endCpuMs: after - between,
  };
}

/** Alternates, so that other load on the machine affects both. */
async function rounds(sides: readonly Side[], times: number, count: number): Promise<Map<Side, Spent[]>> {
  const spent = new Map<Side, Spent[]>(sides.map((side) => [side, []]));
  for (let round = 0; round < times; round++) {
    for (const side of sides) spent.get(side)?.push(await measured(side, count));
  }
  return spent;
}

function report(title: string, sides: readonly Side[], spent: Map<Side, Spent[]>): void {
  const rows: ReadonlyArray<readonly [string, keyof Spent]> = [
    ['start', 'startMs'],
    ['stop and remove', 'endMs'],
    ['start, CPU', 'startCpuMs'],
    ['stop and remove, CPU', 'endCpuMs'],
  ];
  for (const [name, key] of rows) {
    row(
      `${title}: ${name}`,
      sides.map((side) => median((spent.get(side) ?? []).map((each) => each[key]))),
      'ms',
    );
  }
}

function row(title: string, [theirs = 0, ours = 0]: readonly number[], unit: string): void {
  const figures = [theirs, ours].map((figure) => `${figure.toFixed(1)} ${unit}`.padStart(12)).join(' ');
  console.log(`${title.padEnd(38)} ${figures} ${(ours / theirs).toFixed(2).padStart(6)}`);
}

async function memory(side: Side, count: number): Promise<number> {
  const pods: DrivenPod[] = [];
  for (let left = count; left > 0; left -= 10) {
    pods.push(...(await Promise.all(Array.from({ length: Math.min(10, left) }, () => side.driver.start()))));
  }
  await delay(2_000); // both have cleaned up
  const { pssMb, processes } = side.meter.memory();
  console.log(`  ${side.name}: ${processes} processes`);
  await Promise.all(pods.map((pod) => side.driver.end(pod)));
  return pssMb;
}

await using both = await startBoth(values);
const sides = both.sides.map(({ name, runtime }) => ({
  name,
  driver: new CriDriver(runtime),
  meter: measureUsage(runtime),
}));
try {
  for (const side of sides) await measured(side, 1); // the first round warms up
  console.log(`${''.padEnd(38)}   containerd      nodelet  ratio`);
  report('one at a time', sides, await rounds(sides, Number(values.rounds), 1));
  const atOnce = Number(values['at-once']);
  report(`${atOnce} at once`, sides, await rounds(sides, Number(values.bursts), atOnce));
  const pods = Number(values.pods);
  const used: number[] = [];
  for (const side of sides) used.push(await memory(side, pods));
  row(`memory with ${pods} pods (PSS)`, used, 'MB');
} finally {
  for (const { driver, meter } of sides) {
    driver.close();
    meter.close();
  }
}
